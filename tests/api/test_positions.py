"""What an application shows: its position, its times, its misses."""

from __future__ import annotations

from jobs.models import Company
from pipeline.models import Application
from tests.support import factories
from tests.support.callers import Caller, leave, person, signed_in
from tests.support.clock import let_time_pass


def test_positions_are_right_from_either_end_of_a_line_with_gaps(company: Company) -> None:
    job = factories.job(company_id=company.id)
    people = factories.applications(job, 12)
    for index in (3, 7, 8):
        leave(people[index])

    for position, application_id in enumerate(factories.line(job), start=1):
        applicant = factories.fresh(Application(id=application_id)).applicant
        body = signed_in(applicant).get(f"/applications/{application_id}").json()
        assert (body["position"], body["people_waiting"]) == (position, 8)


def test_somebody_with_a_penalty_beyond_the_back_has_a_position_too(offered: Application) -> None:
    caller = signed_in(offered.applicant)
    let_time_pass(offered.job_id, factories.WINDOW + 1)
    caller.post(f"/applications/{offered.id}/acknowledge")

    newcomers = factories.applications(offered.job_id, 3)

    body = caller.get(f"/applications/{offered.id}").json()
    assert (body["position"], body["people_waiting"]) == (3, 5)
    last = signed_in(newcomers[-1].applicant).get(f"/applications/{newcomers[-1].id}").json()
    assert last["position"] == 5


def test_time_in_status_is_counted_in_whole_seconds(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    application = factories.application(job)
    let_time_pass(job, 90.5)

    body = acme.get(f"/applications/{application.id}").json()

    assert body["time_in_status_seconds"] in (90, 91, 92)


def test_without_a_limit_of_misses_none_are_left_to_count(acme: Caller, company: Company) -> None:
    application = factories.application(factories.job(company_id=company.id, max_decays=None))

    assert acme.get(f"/applications/{application.id}").json()["decays_left"] is None


def test_ones_own_applications_are_listed_newest_first(acme: Caller, company: Company) -> None:
    applicant, caller = person()
    jobs = [factories.job(company_id=company.id), factories.job(), factories.job()]
    factories.application(jobs[1])
    made = [str(factories.application(job, applicant).id) for job in jobs]

    first = caller.get("/me/applications", {"limit": "2"})
    rest = caller.get("/me/applications", {"cursor": first.json()["next_cursor"]})

    listed = first.json()["data"] + rest.json()["data"]
    assert [application["id"] for application in listed] == made[::-1]
    assert [application["position"] for application in listed] == [None, 1, None]
    assert caller.get(f"/applicants/{applicant.id}/applications").json()["data"] != []
    theirs = acme.get(f"/applicants/{applicant.id}/applications").json()["data"]
    assert [application["id"] for application in theirs] == made[:1]
