"""Reset of a sandbox: what stays, what is out of reach, and that no log is touched."""

from __future__ import annotations

import pytest

from jobs.models import Company, Role
from jobs.sandboxes import find_sandbox
from pipeline.models import Event, WebhookEndpoint
from pipeline.pages.access import COMPANY
from pipeline.services.sandboxes import reset_sandbox
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import NEW_JOB, Caller, code_of, key_of
from tests.support.invariants import assert_line_is_sound
from tests.support.sandboxes import DAY, advance, line_with_offers, sandbox
from tests.support.together import together
from tests.support.webhooks import endpoint

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def former(company: Company) -> Company:
    return sandbox(company)


@pytest.fixture
def tester(former: Company) -> Caller:
    return key_of(former.id)


def test_a_reset_sandbox_is_empty_and_keeps_keys_and_endpoints(
    company: Company, former: Company, tester: Caller
) -> None:
    job, _ = line_with_offers(former, people=2)
    hook, _ = endpoint(former.id, "https://example.org/hook")
    advance(former, DAY // 2)
    before = Event.objects.count()

    answer = tester.post("/test/reset", {"company_id": str(former.id)})

    now = find_sandbox(company.id)
    assert now
    assert answer.json()["company_id"] == str(now.id) != str(former.id)
    assert tester.get("/jobs").json()["data"] == []
    assert tester.get("/events").json()["data"] == []
    assert tester.get("/test/clock").json()["clock_offset_seconds"] == 0
    assert code_of(tester.get(f"/jobs/{job}")) == (404, "NOT_FOUND")
    assert WebhookEndpoint.objects.get(id=hook.id).company_id == now.id
    assert tester.post("/jobs", NEW_JOB).status_code == 201
    assert now.is_test
    assert Event.objects.filter(job_id=job).count() == before
    assert_line_is_sound(job)


def test_the_former_line_goes_on_by_its_own_clock(former: Company, tester: Caller) -> None:
    job, _ = line_with_offers(former, people=2, acknowledgment_window_seconds=DAY)
    advance(former, DAY - 1)
    tester.post("/test/reset", {"company_id": str(former.id)})

    factories.settle_all()

    former.refresh_from_db()
    assert former.is_test
    assert former.clock_offset_seconds == DAY - 1
    assert_line_is_sound(job)


def test_a_repetition_or_an_empty_sandbox_changes_nothing(
    company: Company, former: Company, tester: Caller
) -> None:
    body = {"company_id": str(former.id)}
    assert tester.post("/test/reset", body).json()["company_id"] == str(former.id)
    tester.post("/jobs", NEW_JOB)

    first = tester.post("/test/reset", body, idempotency_key="once").json()
    tester.post("/jobs", NEW_JOB)
    again = tester.post("/test/reset", body, idempotency_key="once").json()

    assert first == again
    assert len(tester.get("/jobs").json()["data"]) == 1
    second = tester.post("/test/reset", {"company_id": first["company_id"]}).json()
    assert second["company_id"] != first["company_id"]
    assert code_of(tester.post("/test/reset", body)) == (404, "NOT_FOUND")


def test_resets_at_the_same_time_make_one_sandbox(company: Company, former: Company) -> None:
    factories.job(company_id=former.id)

    def reset() -> Company:
        return reset_sandbox(company_id=former.id, meant=former.id, actor=factories.RECRUITER)

    made = {each.id for each in together([reset] * 6)}

    assert made == {find_sandbox(company.id).id}  # type: ignore[union-attr]
    assert Company.objects.count() == 3


def test_only_sandboxes_and_ones_own_can_be_reset(
    acme: Caller, company: Company, former: Company, tester: Caller
) -> None:
    others = sandbox()
    factories.job(company_id=others.id)

    refused = acme.post("/test/reset", {"company_id": str(company.id)})
    assert code_of(refused) == (403, "NOT_A_SANDBOX")
    assert "can be reset" in refused.json()["detail"]
    for other in (others.id, company.id):
        assert code_of(tester.post("/test/reset", {"company_id": str(other)})) == (404, "NOT_FOUND")
    assert Company.objects.filter(sandbox_of=others).count() == 0


def test_an_owner_resets_it_on_its_page(company: Company, former: Company) -> None:
    factories.job(company_id=former.id)
    owner = browser_of(member_of(company, Role.OWNER))
    session = owner.session
    session[COMPANY] = str(former.id)
    session.save()
    page = owner.get("/company/test/")
    assert "Reset the sandbox" in page.content.decode()

    done = owner.post("/company/test/reset/", {"company_id": str(former.id)}, follow=True)

    now = find_sandbox(company.id)
    assert now
    assert now.id != former.id
    assert "The sandbox is empty" in done.content.decode()
