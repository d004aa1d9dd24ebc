"""Each endpoint, read or refused: nothing changes, so all these requests share a scene."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.test_access import CASES, REMOVED, Case, Scene, check, each_case, may_change
from tests.api.test_roles import CASES_OF_BROWSERS, scene_with_browsers
from tests.support import factories
from tests.support.callers import UNKNOWN_ID, code_of


@pytest.fixture(scope="module")
def scene(kept_database: None) -> Iterator[Scene]:
    yield from unchanged(Scene(factories.company(name="Acme")))


@pytest.fixture(scope="module")
def scene_of_browsers(kept_database: None) -> Iterator[Scene]:
    yield from unchanged(scene_with_browsers(factories.company(name="Acme")))


def unchanged(scene: Scene) -> Iterator[Scene]:
    """Give a scene, and see at the end that its job has not moved."""
    before = factories.row_of(scene.job_id).seq
    yield scene
    assert factories.row_of(scene.job_id).seq == before
    assert factories.row_of(scene.draft_id).status == "DRAFT"


@each_case([case for case in CASES if not may_change(case)])
def test_each_caller_gets_what_is_theirs(scene: Scene, case: Case) -> None:
    check(scene, case)


@each_case([case for case in CASES_OF_BROWSERS if not may_change(case)])
def test_each_browser_gets_what_is_its_users(scene_of_browsers: Scene, case: Case) -> None:
    check(scene_of_browsers, case)


JOB_PATHS = ["", "/pipeline", "/queue", "/summary", "/events", "/replay", "/verify"]


@pytest.mark.parametrize("path", JOB_PATHS)
def test_a_foreign_draft_looks_exactly_like_a_job_that_is_not_there(
    scene: Scene, path: str
) -> None:
    other = scene.callers["other company"]
    foreign = other.get(f"/jobs/{scene.draft_id}{path}").json()
    missing = other.get(f"/jobs/{UNKNOWN_ID}{path}").json()

    del foreign["request_id"], missing["request_id"]
    assert foreign == missing


@pytest.mark.parametrize("verb", ["acknowledge", "withdraw", "remove", "reinstate"])
@pytest.mark.parametrize("caller", ["owner", "writer"])
@pytest.mark.parametrize("name", [UNKNOWN_ID, "1", "null", "../jobs", "%00", UNKNOWN_ID.upper()])
def test_an_id_that_names_nothing_is_not_found(
    scene: Scene, verb: str, caller: str, name: str
) -> None:
    answer = scene.callers[caller].post(f"/applications/{name}/{verb}", REMOVED)

    assert code_of(answer) == (404, "NOT_FOUND")
