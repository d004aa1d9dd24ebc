"""The timeline of a job."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Company
from pipeline.domain.states import EventType, Outcome
from pipeline.maintenance import name_index
from pipeline.models import Application
from pipeline.selectors.timelines import Wanted, read_event_trees, read_wanted_event_trees
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from pipeline.services.settling import settle
from pipeline.services.turns import acknowledge, preaccept
from tests.services.test_pass import passes_next
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.clock import database_now
from tests.support.history import History, page

pytestmark = pytest.mark.django_db(transaction=True)


def shown(client: Client, address: str) -> list[int]:
    """Return the events on a page, in its order."""
    text = client.get(address).content.decode()
    return [int(seq) for seq in re.findall(r'id="event-(\d+)"', text)]


def test_the_newest_stands_first_and_what_an_event_set_off_stands_under_it(
    viewer: Client, past: History
) -> None:
    assert shown(viewer, page(past.job, "timeline/")) == [10, 8, 9, 6, 7, 5, 4, 3, 2, 1]


def test_an_event_is_a_sentence_with_its_actor_and_its_hash(viewer: Client, past: History) -> None:
    text = viewer.get(page(past.job, "timeline/")).content.decode()

    for words in ("missed the deadline", "A seat opened", "by the system", "by the applicant"):
        assert words in text
    assert factories.row_of(past.job).chain_head.hex() in text


def test_filters_show_one_kind_one_person_or_what_one_event_set_off(
    viewer: Client, past: History
) -> None:
    timeline = page(past.job, "timeline/")

    assert shown(viewer, f"{timeline}?event=PROMOTED") == [9, 7]
    assert shown(viewer, f"{timeline}?application={past.bo.id}") == [8, 7, 4]
    assert shown(viewer, f"{timeline}?application={past.bo.id}&event=DECAYED") == [8]
    assert shown(viewer, f"{timeline}?cause=6") == [7]
    assert shown(viewer, f"{timeline}?event=HIRED") == shown(viewer, timeline)
    assert shown(viewer, f"{timeline}?application=nonsense") == shown(viewer, timeline)


def test_a_name_leads_to_its_person_and_several_are_offered(viewer: Client, past: History) -> None:
    timeline = page(past.job, "timeline/")
    name_index.update()

    assert viewer.get(f"{timeline}?name=okaf")["Location"].endswith(f"application={past.cy.id}")
    factories.application(past.job, factories.applicant(name="Bo Holm"))
    factories.application(factories.job(company_id=factories.row_of(past.job).company_id))
    name_index.update()
    several = viewer.get(f"{timeline}?name=bo").content.decode()
    assert "Which person?" in several
    assert str(past.bo.id) in several
    nobody = viewer.get(f"{timeline}?name=zz").content.decode()
    assert "Nobody in this line is called “zz”" in nobody
    assert 'class="timeline log"' not in nobody


KINDS_OF_ALL = [kind for kind in EventType if kind is not EventType.JOB_CREATED]


@pytest.mark.parametrize("seed", range(3))
def test_every_filter_gives_what_reading_the_whole_log_gives(seed: int) -> None:
    job = busy_job(seed, steps=80)
    close_job(job_id=job, actor=factories.RECRUITER)
    factories.settle_all()
    log = list(reversed(factories.events(job)))

    for kind in KINDS_OF_ALL:
        wanted = Wanted(event=kind)
        assert all_seqs(job, wanted) == [e.seq for e in log if e.event == kind], kind
    for cause in {e.cause_seq for e in log if e.cause_seq}:
        wanted = Wanted(cause_seq=cause)
        causes, effects = {cause}, []
        for each in log[::-1]:
            if each.cause_seq in causes:
                effects.insert(0, each.seq)
                causes |= {each.seq} if each.event == "PASSED" else set()
        assert all_seqs(job, wanted) == effects
    roots = [e.seq for e in log if e.cause_seq is None or e.event == "REINSTATED"]
    assert all_seqs(job, None) == roots


def all_seqs(job: UUID, wanted: Wanted | None) -> list[int]:
    seqs: list[int] = []
    before, more = None, True
    while more:
        if wanted is None:
            found = read_event_trees(job, before=before, limit=3)
        else:
            found = read_wanted_event_trees(job, wanted, before=before, limit=3)
        seqs += [tree.event.seq for tree in found.rows]
        before, more = (seqs[-1] if seqs else None), found.more
    return seqs


def all_in_trees(job: UUID) -> list[int]:
    seqs: list[int] = []
    before, more = None, True
    while more:
        found = read_event_trees(job, before=before, limit=3)
        for tree in found.rows:
            seqs += [tree.event.seq, *(child.seq for child in tree.children)]
        before, more = found.rows[-1].event.seq, found.more
    return seqs


@pytest.mark.parametrize("seed", range(6))
def test_the_trees_of_all_pages_hold_each_event_of_the_log_once(seed: int) -> None:
    job = busy_job(seed, steps=150)

    assert sorted(all_in_trees(job)) == [event.seq for event in factories.events(job)]

    close_job(job_id=job, actor=factories.RECRUITER)
    factories.settle_all()
    assert sorted(all_in_trees(job)) == [event.seq for event in factories.events(job)]


def test_what_follows_from_passed_turns_is_shown_with_them(
    viewer: Client, company: Company
) -> None:
    job = factories.job(company_id=company.id)
    seated, first, second, third, _ = factories.applications(job, 5)
    passes_next(first)
    passes_next(second)
    until = database_now() + timedelta(days=1)
    preaccept(application_id=third.id, accept_until=until, actor=factories.owner_of(third))

    decide_on(seated)

    names = [event.event for event in factories.events(job)[-5:]]
    assert names == ["REMOVED", "PASSED", "PASSED", "PROMOTED", "ACKNOWLEDGED"]
    last = factories.row_of(job).seq
    text = " ".join(viewer.get(page(job, "timeline/")).content.decode().split())
    assert shown(viewer, page(job, "timeline/"))[:5] == list(range(last - 4, last + 1))
    assert "This caused 4 events" in text
    assert "The applicant passed their turn" in text
    effects = shown(viewer, page(job, f"timeline/?cause={last - 4}"))
    assert effects == list(range(last, last - 4, -1))


def decide_on(application: Application) -> None:
    remove(application_id=application.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)


def test_who_was_let_go_and_who_was_decided_on_after_the_closing_is_all_told() -> None:
    job = factories.job(capacity=2)
    first, second, *_ = factories.applications(job, 9)
    close_job(job_id=job, actor=factories.RECRUITER)
    decide_on(first)
    factories.settle_all()
    decide_on(second)

    trees = read_event_trees(job, before=None, limit=3).rows

    assert [tree.event.event for tree in trees] == ["REMOVED", "REMOVED", "JOB_CLOSED"]
    assert [tree.total for tree in trees] == [0, 0, 7]
    assert {child.event for child in trees[2].children} == {"CLOSED_OUT"}


def test_pages_follow_each_other_without_gaps_and_trees_are_whole(
    viewer: Client, company: Company
) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    factories.applications(job, 40)
    factories.alter(job, capacity=30)
    factories.applications(job, 10)

    seen, address = [], page(job, "timeline/")
    while address:
        seen.append(shown(viewer, address))
        text = viewer.get(address).content.decode()
        found = re.search(r'href="([^"]+)" rel="next"', text)
        address = found.group(1).replace("&amp;", "&") if found else ""

    cause = 43
    tree = next(events for events in seen if cause in events)
    assert tree[tree.index(cause) : tree.index(cause) + 30] == list(range(cause, cause + 30))
    assert sorted(seq for events in seen for seq in events) == list(
        range(1, factories.row_of(job).seq + 1)
    )
    assert len(seen) == 3


def test_of_thousands_that_one_event_set_off_the_first_are_shown(
    viewer: Client, company: Company
) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    factories.applications(job, 71)
    factories.alter(job, capacity=71)

    text = viewer.get(page(job, "timeline/")).content.decode()

    assert "This caused 70 events" in " ".join(text.split())
    assert "Show 20 more" in " ".join(text.split())
    assert len(shown(viewer, page(job, "timeline/?cause=74"))) == 25


def test_who_was_let_go_by_closing_hangs_under_the_closing(
    viewer: Client, company: Company
) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    people = factories.applications(job, 60)
    close_job(job_id=job, actor=factories.RECRUITER)
    settle(job_id=job)

    events = shown(viewer, page(job, "timeline/"))

    assert factories.status_of(people[1]) == "JOB_CLOSED"
    assert events[:51] == list(range(63, 114))
    assert "Show 9 more" in viewer.get(page(job, "timeline/")).content.decode()


def test_its_newest_page_keeps_itself_up_to_date(viewer: Client, past: History) -> None:
    fragment = page(past.job, "timeline/?fragment=1")
    tag = viewer.get(fragment)["ETag"]

    assert viewer.get(fragment, headers={"If-None-Match": tag}).status_code == 304
    factories.application(past.job)
    newer = viewer.get(fragment, headers={"If-None-Match": tag})
    assert newer.status_code == 200
    assert 'id="event-11"' in newer.content.decode()


def test_the_queries_do_not_grow_with_the_log(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=2)
    for person in factories.applications(job, 4)[:2]:
        acknowledge(application_id=person.id, actor=factories.owner_of(person))
    factories.alter(job, capacity=3)
    viewer.get(page(job, "timeline/"))

    with CaptureQueriesContext(connection) as few:
        viewer.get(page(job, "timeline/"))
    factories.applications(job, 60)
    factories.alter(job, capacity=40)
    with CaptureQueriesContext(connection) as many:
        viewer.get(page(job, "timeline/"))

    assert len(few) == len(many) <= 15
