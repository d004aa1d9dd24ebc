"""A client made from the document drives a whole story, over a running server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from applicants import tokens
from jobs.models import Company
from pipeline.api.openapi.document import build_document
from pipeline.api.openapi.examples import sample_value
from tests.support import factories
from tests.support.callers import key_of
from tests.support.environment import ROOT
from tests.support.server import serving

PACKAGE = "client_of_next_in_line"
CONFIG = f"""post_hooks: []
package_name_override: {PACKAGE}
content_type_overrides:
  text/csv: application/octet-stream
  application/jsonl: application/octet-stream
"""

Call = Callable[..., Any]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The client, as a package that was made just now from the committed document."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    document = ROOT / "docs" / "openapi.yaml"
    subprocess.run(
        [
            *(Path(sys.executable).with_name("openapi-python-client"), "generate"),
            *("--path", document, "--config", tmp_path / "config.yaml"),
            *("--meta", "none", "--output-path", tmp_path / PACKAGE, "--fail-on-warning"),
        ],
        check=True,
        capture_output=True,
    )
    monkeypatch.syspath_prepend(tmp_path)
    return import_module(PACKAGE)


@pytest.fixture
def address(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    with serving(environment, tmp_path / "server.log") as address:
        yield f"{address}/api/v1"


@pytest.fixture
def calls_of(client: ModuleType, address: str) -> Iterator[Callable[[str | None], Call]]:
    """Makes callers of the client's operations, who get what was answered, or the problem."""
    with ExitStack() as open_sessions:

        def caller(token: str | None) -> Call:
            session = client.AuthenticatedClient(base_url=address, token=token)
            open_sessions.enter_context(session)

            def call(operation: str, *arguments: Any, **more: Any) -> Any:
                module = import_module(f"{PACKAGE}.api.{operation}")
                return module.sync(*arguments, client=session, **more)

            return call

        yield caller


def test_a_generated_client_drives_the_whole_line(
    calls_of: Callable[[str | None], Call], company: Company
) -> None:
    models = import_module(f"{PACKAGE}.models")
    company_calls = calls_of(key_of(company.id).token)
    people = [factories.applicant(name=name) for name in ("Mia", "Noa", "Ole")]
    mia, noa, _ole = (calls_of(tokens.issue(person)) for person in people)

    job = company_calls("jobs.create_job", body=models.JobIn(title="Ship's cook", capacity=1))
    assert (job.title, job.status, job.seats_free) == ("Ship's cook", "OPEN", 1)
    before = datetime.now(UTC)

    first, second, third = (
        company_calls(
            "applications.apply",
            job.id,
            body=models.SubmissionIn(name=person.name, email=person.email),
            idempotency_key=person.name,
        )
        for person in people
    )
    assert [each.status for each in (first, second, third)] == ["ACTIVE", "WAITLIST", "WAITLIST"]
    assert [each.position for each in (first, second, third)] == [None, 1, 2]
    refused = company_calls(
        "applications.apply",
        job.id,
        body=models.SubmissionIn(name="Mia", email=people[0].email),
    )
    assert (refused.status, refused.code) == (409, models.ProblemCode.DUPLICATE_SUBMISSION)

    assert noa("applications.acknowledge", second.id).code == "INVALID_TRANSITION"
    assert mia("applications.withdraw", first.id).outcome == "WITHDRAWN"
    promoted = noa("applications.get_application", second.id)
    assert promoted.status == models.ApplicationStatus.PENDING_ACKNOWLEDGMENT
    assert promoted.acknowledge_by > promoted.server_time > before
    assert noa("applications.acknowledge", second.id).status == "ACTIVE"

    log = company_calls("the_line_of_a_job.list_job_events", job.id)
    assert [event.event for event in log.data[2:]] == [
        *("APPLIED", "APPLIED", "APPLIED"),
        *("WITHDRAWN", "PROMOTED", "ACKNOWLEDGED"),
    ]
    then = company_calls("the_line_of_a_job.replay_job", job.id, seq=5)
    assert [place.application_id for place in then.active] == [first.id]
    assert [place.application_id for place in then.waitlist] == [second.id, third.id]
    verdict = company_calls("the_line_of_a_job.verify_job", job.id)
    assert (verdict.chain, verdict.replay_matches) == ("ok", True)
    assert (verdict.head.seq, verdict.head.hash_) == (log.data[-1].seq, log.data[-1].hash_)


def test_a_client_made_without_settings_can_import_people_as_json(tmp_path: Path) -> None:
    document = ROOT / "docs" / "openapi.yaml"
    subprocess.run(
        [
            *(Path(sys.executable).with_name("openapi-python-client"), "generate"),
            *("--path", document, "--meta", "none", "--output-path", tmp_path / PACKAGE),
        ],
        check=True,
        capture_output=True,
    )

    made = (tmp_path / PACKAGE / "api" / "applications" / "import_applications.py").read_text()

    assert "ApplicationsImportIn" in made
    assert "idempotency_key" in made


def test_a_generated_client_reads_codes_that_it_does_not_know(client: ModuleType) -> None:
    models = import_module(f"{PACKAGE}.models")
    event = example("Event") | {"event": "SOMETHING_NEW", "to_status": "NEW", "outcome": "NEW"}

    feed = models.Feed.from_dict({"data": [event, example("Event")], "next_cursor": "x"})
    problem = models.Problem.from_dict(example("Problem") | {"code": "NEW_REFUSAL"})

    new, known = feed.data
    assert (new.event, new.to_status, new.outcome) == ("SOMETHING_NEW", "NEW", "NEW")
    assert known.event in set(models.EventName)
    assert isinstance(known.event, models.EventName)
    assert problem.code == "NEW_REFUSAL"


def example(name: str) -> dict[str, Any]:
    """Return an example of a type, as the document has it."""
    schemas = build_document()["components"]["schemas"]
    found: dict[str, Any] = sample_value({"$ref": f"#/components/schemas/{name}"}, schemas)
    return found
