"""Lists of the applications with a tag or an assignee, in a job with very many."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs.models import User
from pipeline.models import Application, ApplicationAssignee, ApplicationTag
from pipeline.selectors import applications, job_applications
from pipeline.selectors.job_applications import (
    ORDERS,
    WantedJobApplications,
    _listed_place_values,
    list_statements,
)
from tasks.sql.prepared import PreparedStatement
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.crowd import crowd
from tests.support.plans import MODES, plan_of

pytestmark = pytest.mark.slow

OLDEST_FIRST, NEWEST_FIRST = ORDERS["applied_at"], ORDERS["-applied_at"]
SIZE, EVERY, WORDS = 20_000, 400, 100


class Scene:
    """A line of many people, some of whom have a tag and an assignee."""

    def __init__(self) -> None:
        self.job = factories.job(capacity=2)
        factories.applications(self.job, 4)
        crowd(self.job, SIZE)
        self.user: User = member_of(factories.row_of(self.job).company)
        rows = Application.objects.filter(job_id=self.job).order_by("applied_at", "id")
        ids = list(rows.values_list("id", flat=True))
        self.marked: list[UUID] = ids[::EVERY]
        self.common: list[UUID] = ids[::WORDS]
        self._tag("rare", self.marked)
        for number in range(WORDS):
            self._tag(f"word {number}", ids[number::WORDS])
        others = [member_of(factories.row_of(self.job).company) for _ in range(20)]
        marked = {*self.marked}
        ApplicationAssignee.objects.bulk_create(
            ApplicationAssignee(
                application_id=each,
                job_id=self.job,
                user=self.user if each in marked else others[number % len(others)],
            )
            for number, each in enumerate(ids)
        )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE pipeline_applicationtag, pipeline_applicationassignee")

    def _tag(self, word: str, ids: list[UUID]) -> None:
        ApplicationTag.objects.bulk_create(
            ApplicationTag(application_id=each, job_id=self.job, word=word) for each in ids
        )

    def listed(self, filters: WantedJobApplications, **how: Any) -> list[UUID]:
        """All pages of a list, one after the other, none of which may be short."""
        found: list[UUID] = []
        after = None
        while True:
            page = job_applications.list_page(self.job, filters, after=after, limit=20, **how)
            found += [row.application.id for row in page.rows]
            after = page.next
            if after is None:
                return found
            assert len(page.rows) == 20


@pytest.fixture(scope="module")
def scene(kept_database: None) -> Scene:
    return Scene()


@pytest.fixture(autouse=True)
def _few_are_51_and_not_201(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applications, "MOST_MARKED", 100)


def test_the_few_with_a_tag_or_an_assignee_are_found_wherever_they_stand(scene: Scene) -> None:
    tagged, assigned = (
        WantedJobApplications(tag="rare"),
        WantedJobApplications(assignee=scene.user.id),
    )

    assert scene.listed(tagged, order=OLDEST_FIRST) == scene.marked
    assert scene.listed(tagged, order=NEWEST_FIRST) == scene.marked[::-1]
    assert scene.listed(assigned, order=NEWEST_FIRST) == scene.marked[::-1]
    assert job_applications.count(scene.job, tagged, NEWEST_FIRST) == (len(scene.marked), True)
    both = WantedJobApplications(tag="word 0", assignee=scene.user.id)
    assert set(scene.listed(both, order=NEWEST_FIRST)) == {*scene.marked} & {*scene.common}


def test_the_walk_along_the_line_would_give_short_pages(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_applications, "rarest_mark", lambda job_id, **values: "")

    tagged = WantedJobApplications(tag="rare")
    page = job_applications.list_page(scene.job, tagged, order=NEWEST_FIRST, after=None, limit=20)

    assert len(page.rows) < 20
    assert page.next


def test_of_a_common_tag_a_page_is_found_along_the_line(scene: Scene) -> None:
    tagged = WantedJobApplications(tag="word 0")

    page = job_applications.list_page(scene.job, tagged, order=NEWEST_FIRST, after=None, limit=20)

    assert len(page.rows) == 20
    assert applications.rarest_mark(scene.job, tag="word 0", assignee=None) == ""
    assert applications.rarest_mark(scene.job, tag="rare", assignee=None) == "tag"


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("mark", ["tag", "assignee"])
def test_only_the_marked_are_read(scene: Scene, order: Any, mark: str) -> None:
    value = {"tag": "rare", "assignee": scene.user.id}[mark]
    filters = WantedJobApplications(**{mark: value})
    values = filters.parameters() | _listed_place_values(scene.job, order, None)
    page, edge = list_statements(order, 21, True, mark)

    assert edge == ""
    for mode in MODES:
        nodes = plan_of(PreparedStatement(page), values, mode)
        scanned = {(n["Node Type"], n["Index Name"]) for n in nodes if "Index Name" in n}
        indexes = {index for _, index in scanned}
        assert {"tag": "tag_of_job", "assignee": "assigned_of_job"}[mark] in indexes
        assert "application_listed" not in indexes
        whole = {n["Relation Name"] for n in nodes if n["Node Type"] == "Seq Scan"}
        assert "pipeline_application" not in whole
