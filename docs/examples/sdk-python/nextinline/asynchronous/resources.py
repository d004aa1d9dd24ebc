"""Operations of the API by resource. Everything else is one `client.request(…)` away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from nextinline import models

if TYPE_CHECKING:
    from nextinline.asynchronous.client import AsyncClient


class AsyncResource:
    """Part of the client."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client


class AsyncJobs(AsyncResource):
    """Jobs and their lines."""

    async def create(
        self, *, title: str, capacity: int, idempotency_key: str | None = None, **more: Any
    ) -> models.Job:
        """Create a job; `more`: description, location, policy, questions, status, metadata …"""
        body = {"title": title, "capacity": capacity, **more}
        made = await self._client.call("POST", "/jobs", json=body, idempotency_key=idempotency_key)
        return cast(models.Job, made)

    async def get(self, job_id: str) -> models.Job:
        """Return a job."""
        return cast(models.Job, await self._client.call("GET", f"/jobs/{job_id}"))

    async def get_with_etag(self, job_id: str) -> tuple[models.Job, str]:
        """Return a job and its ETag, for `change`."""
        answer = await self._client.request("GET", f"/jobs/{job_id}")
        return cast(models.Job, answer.json()), answer.headers["etag"]

    def list(
        self,
        *,
        status: str | None = None,
        search: str | None = None,
        external_id: str | None = None,
    ) -> AsyncIterator[models.Job]:
        """Yield jobs: all of the key's company, or the open ones without a key."""
        query = {"status": status, "search": search, "external_id": external_id}
        return self._client.items("/jobs", query)

    async def change(self, job_id: str, *, etag: str | None = None, **changes: Any) -> models.Job:
        """Change a job. A change of `capacity` or `policy` needs the ETag of the job as read."""
        headers = {"If-Match": etag} if etag else {}
        changed = await self._client.call("PATCH", f"/jobs/{job_id}", json=changes, headers=headers)
        return cast(models.Job, changed)

    async def open(self, job_id: str) -> models.Job:
        """Open or resume a job."""
        return await self._act(job_id, "open")

    async def pause(self, job_id: str) -> models.Job:
        """Pause a job."""
        return await self._act(job_id, "pause")

    async def close(self, job_id: str) -> models.Job:
        """Close a job, finally."""
        return await self._act(job_id, "close")

    async def publish_form(
        self, job_id: str, questions: Sequence[models.QuestionIn]
    ) -> models.Form:
        """Publish the questions that people answer when they apply."""
        body = {"questions": list(questions)}
        made = await self._client.call("POST", f"/jobs/{job_id}/form", json=body)
        return cast(models.Form, made)

    async def _act(self, job_id: str, verb: str) -> models.Job:
        return cast(models.Job, await self._client.call("POST", f"/jobs/{job_id}/{verb}"))

    def queue(self, job_id: str) -> AsyncIterator[models.Application]:
        """Yield the waitlist in order."""
        return self._client.items(f"/jobs/{job_id}/queue")

    async def pipeline(self, job_id: str) -> models.Pipeline:
        """Return the job with everyone who holds a seat, and the front of the waitlist."""
        return cast(models.Pipeline, await self._client.call("GET", f"/jobs/{job_id}/pipeline"))

    async def summary(self, job_id: str) -> models.Summary:
        """Return the job's figures."""
        return cast(models.Summary, await self._client.call("GET", f"/jobs/{job_id}/summary"))

    def events(self, job_id: str, *, after_seq: int = 0) -> AsyncIterator[models.Event]:
        """Yield the job's log after a seq."""
        return self._client.items(f"/jobs/{job_id}/events", {"after_seq": after_seq})

    async def verify(
        self, job_id: str, *, seq: int | None = None, hash: str | None = None
    ) -> models.Verdict:
        """Verify the job's log, also against a seq and a hash that you noted earlier."""
        query = {"seq": seq, "hash": hash}
        found = await self._client.call("GET", f"/jobs/{job_id}/verify", query=query)
        return cast(models.Verdict, found)


class AsyncApplications(AsyncResource):
    """Applications."""

    def list(self, job_id: str, **filters: Any) -> AsyncIterator[models.Application]:
        """Yield everyone who applied to a job, the latest first.

        `filters` are the parameters of the API: status, outcome, applied_after, metadata (a
        dictionary), search, sort, expand="decision" …
        """
        return self._client.items(f"/jobs/{job_id}/applications", filters)

    async def find(self, external_id: str) -> models.Application | None:
        """Return the company's application with your own id, if there is one."""
        query = {"external_id": external_id}
        found = await self._client.call("GET", "/applications", query=query)
        return cast(models.Application, found["data"][0]) if found["data"] else None

    async def submit(
        self, job_id: str, *, name: str, email: str, idempotency_key: str | None = None, **more: Any
    ) -> models.Application:
        """Submit a person to a job of the key's company; `more`: external_id, metadata, answers."""
        body = {"name": name, "email": email, **more}
        return await self._apply(job_id, body, idempotency_key)

    async def submit_known(
        self, job_id: str, applicant_id: str, *, idempotency_key: str | None = None, **more: Any
    ) -> models.Application:
        """Submit a person whom the company already knows; `more`: name, external_id, metadata."""
        body = {"applicant_id": applicant_id, **more}
        return await self._apply(job_id, body, idempotency_key)

    async def import_many(
        self,
        job_id: str,
        people: Sequence[models.ImportedApplicationIn],
        *,
        idempotency_key: str | None = None,
    ) -> models.Task:
        """Start an import of up to 10,000 people, in this order; `tasks.rows` has the results."""
        path, body = f"/jobs/{job_id}/applications/import", {"applications": list(people)}
        made = await self._client.call("POST", path, json=body, idempotency_key=idempotency_key)
        return cast(models.Task, made)

    async def import_file(
        self, job_id: str, content: bytes, *, idempotency_key: str | None = None
    ) -> models.Task:
        """Start an import of a CSV file of up to 100,000 people, in its order."""
        made = await self._client.call(
            "POST",
            f"/jobs/{job_id}/applications/import",
            content=content,
            headers={"Content-Type": "text/csv"},
            idempotency_key=idempotency_key,
        )
        return cast(models.Task, made)

    async def apply(self, job_id: str, *, idempotency_key: str | None = None) -> models.Application:
        """Apply to a job, with an applicant's token."""
        return await self._apply(job_id, {}, idempotency_key)

    async def _apply(
        self, job_id: str, body: dict[str, Any], idempotency_key: str | None
    ) -> models.Application:
        made = await self._client.call(
            "POST", f"/jobs/{job_id}/applications", json=body, idempotency_key=idempotency_key
        )
        return cast(models.Application, made)

    async def get(self, application_id: str, *, expand: str | None = None) -> models.Application:
        """Return an application; with `expand="decision"` also the company's decision."""
        query = {"expand": expand}
        found = await self._client.call("GET", f"/applications/{application_id}", query=query)
        return cast(models.Application, found)

    async def change(self, application_id: str, **changes: Any) -> models.Application:
        """Attach your own `external_id` or `metadata`. Changes nothing in the line."""
        path = f"/applications/{application_id}"
        return cast(models.Application, await self._client.call("PATCH", path, json=changes))

    async def acknowledge(self, application_id: str) -> models.Application:
        """Acknowledge the offered seat, with the person's token or a portal token."""
        return await self._act(application_id, "acknowledge")

    async def defer(self, application_id: str, not_before: str | None) -> models.Application:
        """Offer the person no seat until a time, with their token or a portal one; None: now."""
        return await self._act(application_id, "defer", {"not_before": not_before})

    async def pass_offer(self, application_id: str) -> models.Application:
        """Pass the offered seat, with the person's token or a portal one."""
        return await self._act(application_id, "pass")

    async def pass_next(self, application_id: str, wanted: bool) -> models.Application:
        """Pass the next turn when it comes, or take that back, with the person's token."""
        return await self._act(application_id, "pass-next", {"pass_next": wanted})

    async def preaccept(self, application_id: str, accept_until: str | None) -> models.Application:
        """Accept a seat in advance until a time, with the person's token or a portal one."""
        return await self._act(application_id, "preaccept", {"accept_until": accept_until})

    async def answers(self, application_id: str) -> models.Answers:
        """Return all answers of an application, the last ones first, and further questions."""
        found = await self._client.call("GET", f"/applications/{application_id}/answers")
        return cast(models.Answers, found)

    async def change_answers(
        self, application_id: str, answers: dict[str, Any]
    ) -> models.Application:
        """Change the answers of a person who waits, with their token or a portal one."""
        return await self._act(application_id, "answers", {"answers": answers})

    async def upload(
        self, job_id: str, *, name: str, content: bytes, idempotency_key: str | None = None
    ) -> models.File:
        """Upload a file, whose `id` answers a question of the job or goes to `add_files`.

        An upload that no application takes within an hour is removed.
        """
        body = {"job_id": job_id, "name": name, "size_bytes": len(content)}
        made = await self._client.call(
            "POST", "/uploads", json=body, idempotency_key=idempotency_key
        )
        path, kind = f"/uploads/{made['id']}/content", {"Content-Type": "application/octet-stream"}
        sent = await self._client.call("PUT", path, content=content, headers=kind)
        return cast(models.File, sent)

    async def add_files(self, application_id: str, upload_ids: Sequence[str]) -> models.Files:
        """Add uploads to an application that waits in line. Return all its files."""
        path, body = f"/applications/{application_id}/files", {"upload_ids": list(upload_ids)}
        return cast(models.Files, await self._client.call("POST", path, json=body))

    def files(self, application_id: str) -> AsyncIterator[models.File]:
        """Yield the files of an application, oldest first."""
        return self._client.items(f"/applications/{application_id}/files")

    async def download(self, application_id: str, file_id: str) -> bytes:
        """Return the bytes of a file. 404 while the malware scan has not finished."""
        path = f"/applications/{application_id}/files/{file_id}"
        return (await self._client.request("GET", path)).content

    async def ask(
        self,
        application_id: str,
        question: models.QuestionIn,
        answer_by: str,
        *,
        idempotency_key: str | None = None,
    ) -> models.FurtherQuestion:
        """Ask a person in review one more question."""
        path = f"/applications/{application_id}/further-questions"
        body = {"question": question, "answer_by": answer_by}
        made = await self._client.call("POST", path, json=body, idempotency_key=idempotency_key)
        return cast(models.FurtherQuestion, made)

    async def answer_question(
        self, application_id: str, question_id: str, answer: Any
    ) -> models.FurtherQuestion:
        """Answer a further question, with the person's token or a portal one."""
        path = f"/applications/{application_id}/further-questions/{question_id}/answer"
        made = await self._client.call("POST", path, json={"answer": answer})
        return cast(models.FurtherQuestion, made)

    async def withdraw_question(self, application_id: str, question_id: str) -> models.Answers:
        """Withdraw a further question that is still open."""
        path = f"/applications/{application_id}/further-questions/{question_id}/withdraw"
        return cast(models.Answers, await self._client.call("POST", path))

    def messages(self, application_id: str) -> AsyncIterator[models.Message]:
        """Yield the messages between the company and the applicant, newest first."""
        return self._client.items(f"/applications/{application_id}/messages")

    async def send_message(
        self,
        application_id: str,
        text: str,
        *,
        upload_ids: Sequence[str] = (),
        idempotency_key: str | None = None,
    ) -> models.Message:
        """Write to the applicant, who gets it by email."""
        path = f"/applications/{application_id}/messages"
        body = {"text": text, "upload_ids": [*upload_ids]}
        made = await self._client.call("POST", path, json=body, idempotency_key=idempotency_key)
        return cast(models.Message, made)

    async def contest(
        self, application_id: str, text: str, *, idempotency_key: str | None = None
    ) -> models.Contest:
        """Ask the company to look again, with the person's token or a portal token."""
        path, body = f"/applications/{application_id}/contests", {"text": text}
        made = await self._client.call("POST", path, json=body, idempotency_key=idempotency_key)
        return cast(models.Contest, made)

    async def answer_contest(
        self,
        application_id: str,
        contest_id: str,
        *,
        answer: str,
        reason: str,
        text: str = "",
        idempotency_key: str | None = None,
    ) -> models.Contest:
        """Answer with UPHELD or CHANGED, for a reason that fits. `text` goes to the person."""
        path = f"/applications/{application_id}/contests/{contest_id}/answer"
        body = {"answer": answer, "reason": reason, "text": text}
        made = await self._client.call("POST", path, json=body, idempotency_key=idempotency_key)
        return cast(models.Contest, made)

    async def withdraw(self, application_id: str) -> models.Application:
        """Withdraw, with the person's token or a portal token."""
        return await self._act(application_id, "withdraw")

    async def remove(
        self,
        application_id: str,
        *,
        outcome: str,
        reason: str | None = None,
        note: str = "",
        text: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.Application:
        """Decide: `outcome` is HIRED, REJECTED or REMOVED. Any of them frees the seat.

        `reason` is a code for the log, and `note` free text beside it. The applicant reads `text`,
        which goes only with REJECTED and REMOVED.
        """
        body = {"outcome": outcome, "reason": reason, "note": note}
        body |= {} if text is None else {"text": text}
        return await self._act(application_id, "remove", body, idempotency_key)

    async def extend(
        self, application_id: str, acknowledge_by: str, *, idempotency_key: str | None = None
    ) -> models.Application:
        """Give a person with an open offer until a later time to confirm it."""
        body = {"acknowledge_by": acknowledge_by}
        return await self._act(application_id, "extend", body, idempotency_key)

    async def reinstate(
        self,
        application_id: str,
        *,
        reason: str,
        note: str = "",
        idempotency_key: str | None = None,
    ) -> models.Application:
        """Give a person back the place they had before their last missed deadline."""
        body = {"reason": reason, "note": note}
        return await self._act(application_id, "reinstate", body, idempotency_key)

    async def move_ahead(
        self,
        application_id: str,
        *,
        reason: str,
        text: str = "",
        idempotency_key: str | None = None,
    ) -> models.Application:
        """Move one person to the front of the line, and tell everyone passed."""
        body = {"reason": reason, "text": text}
        return await self._act(application_id, "move-ahead", body, idempotency_key)

    async def _act(
        self,
        application_id: str,
        verb: str,
        body: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> models.Application:
        path = f"/applications/{application_id}/{verb}"
        done = await self._client.call("POST", path, json=body, idempotency_key=idempotency_key)
        return cast(models.Application, done)

    async def scores(self, application_id: str) -> models.Scorecards:
        """Return reviewers' marks; for a key only their number, until the application has ended."""
        found = await self._client.call("GET", f"/applications/{application_id}/scores")
        return cast(models.Scorecards, found)

    def timeline(self, application_id: str) -> AsyncIterator[models.ToldEvent]:
        """Yield an application's events, oldest first, each with a sentence."""
        return self._client.items(f"/applications/{application_id}/timeline")


class AsyncApplicants(AsyncResource):
    """People who have applied to the company."""

    async def get(self, applicant_id: str) -> models.Person:
        """Return a person."""
        return cast(models.Person, await self._client.call("GET", f"/applicants/{applicant_id}"))

    async def find(self, email: str) -> models.Person | None:
        """Return the company's applicant with an address, if there is one."""
        found = await self._client.call("GET", "/applicants", query={"email": email})
        return cast(models.Person, found["data"][0]) if found["data"] else None

    def applications(self, applicant_id: str) -> AsyncIterator[models.Application]:
        """Yield a person's applications, newest first."""
        return self._client.items(f"/applicants/{applicant_id}/applications")

    async def create_token(
        self, applicant_id: str, *, lifetime_seconds: int | None = None
    ) -> models.PortalToken:
        """Make a token with which your own site acts for a person, for some minutes."""
        body = {} if lifetime_seconds is None else {"lifetime_seconds": lifetime_seconds}
        made = await self._client.call("POST", f"/applicants/{applicant_id}/tokens", json=body)
        return cast(models.PortalToken, made)


class AsyncTasks(AsyncResource):
    """Background work."""

    async def start(
        self, type: str, payload: dict[str, Any] | None = None, **more: Any
    ) -> models.NewTask:
        """Start a task; `more`: run_after, delay_seconds, priority, idempotency_key …"""
        body = {"type": type, "payload": payload or {}, **more}
        return cast(models.NewTask, await self._client.call("POST", "/tasks", json=body))

    async def get(self, task_id: str) -> models.FullTask:
        """Return a task."""
        return cast(models.FullTask, await self._client.call("GET", f"/tasks/{task_id}"))

    async def wait(
        self, task_id: str, *, every_seconds: float = 1.0, at_most_seconds: float = 600.0
    ) -> models.FullTask:
        """Return a task once it has ended. Raises TimeoutError."""
        for _ in range(max(1, int(at_most_seconds / every_seconds))):
            task = await self.get(task_id)
            if task["status"] not in ("PENDING", "RUNNING", "CANCELLING"):
                return task
            await asyncio.sleep(every_seconds)
        raise TimeoutError(f"the task {task_id} has not ended")

    def rows(self, task_id: str) -> AsyncIterator[models.ImportedRow]:
        """List what became of an import's rows: each has an application, or the reason why not."""
        return self._client.items(f"/tasks/{task_id}/rows")
