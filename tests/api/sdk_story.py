"""The whole story, as a program with the Python client tells it.

The test also runs its synchronous form, which is made from it like the synchronous client.
"""

from __future__ import annotations

import time
from typing import Any

import httpx
from nextinline import ApiError, AsyncClient, ConnectionFailed

# An event is in the feed once no older transaction of the whole database server is running, so the
# story looks more than once.
LOOKS, EVENTS = 300, 10


class FlakyTransport(httpx.AsyncHTTPTransport):
    """Transport that refuses the first attempt of each request, and loses the second's answer."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: list[tuple[str, str | None]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        key = request.headers.get("idempotency-key")
        self.attempts.append((request.url.path, key))
        attempt = len(self.attempts)
        if attempt == 1:
            return httpx.Response(503, headers={"Retry-After": "0"}, request=request)
        answer = await super().handle_async_request(request)
        if attempt == 2:
            await answer.aread()
            raise httpx.ReadError("the answer was lost", request=request)
        return answer


async def tell_story(base_url: str, key: str, test_key: str) -> dict[str, Any]:
    """Play the story against a server, and return what was seen."""
    seen: dict[str, Any] = {}
    async with AsyncClient(key, base_url=base_url) as company:
        job = await company.jobs.create(title="Cook", capacity=1, idempotency_key="spring")
        again = await company.jobs.create(title="Cook", capacity=1, idempotency_key="spring")
        seen["one job"] = job["id"] == again["id"]
        noa, ole = await move_line(base_url, company, job, seen)
        await read_line(base_url, company, job, ole, seen)
        await find_people(company, job, noa, seen)
        await send_file(company, seen)
        _, etag = await company.jobs.get_with_etag(job["id"])
        changed = await company.jobs.change(job["id"], etag=etag, capacity=2)
        seen["capacity"] = changed["capacity"]
        seen["secret"] = (await company.webhooks.create("https://example.com/hooks"))["secret"]
        try:
            await company.sandbox.clock()
        except ApiError as error:
            seen["live clock"] = error.code
    async with AsyncClient(test_key, base_url=base_url) as trial:
        await try_sandbox(trial, seen)
    seen["retried"] = await retry(base_url, key)
    try:
        async with AsyncClient(base_url="http://127.0.0.1:9", max_retries=1) as nowhere:
            await nowhere.jobs.get(job["id"])
    except ConnectionFailed as error:
        seen["nobody there"] = "127.0.0.1:9" in str(error)
    return seen


async def try_sandbox(trial: AsyncClient, seen: dict[str, Any]) -> None:
    """Move the sandbox's clock, twice under one key, and start a task that nothing runs."""
    moved = [await trial.sandbox.advance(3_600, idempotency_key="an hour") for _ in range(2)]
    clock = await trial.sandbox.clock()
    seen["moved"] = [moved[0]["id"] == moved[1]["id"], clock["clock_offset_seconds"]]
    job = await trial.jobs.create(title="Cook", capacity=1)
    task = await trial.tasks.start("report.weekly", {"job_id": job["id"]})
    try:
        await trial.tasks.wait(task["id"], every_seconds=0.01, at_most_seconds=0.05)
    except TimeoutError:
        seen["waited"] = "not yet"


async def move_line(
    base_url: str, company: AsyncClient, job: Any, seen: dict[str, Any]
) -> tuple[Any, Any]:
    """Three people apply; the first leaves, the second confirms and is hired, the third remains."""
    people = []
    for name in ("mia", "noa", "ole"):
        person = {"name": name, "email": f"{name}@example.com", "external_id": f"crm-{name}"}
        people.append(await company.applications.submit(job["id"], **person))
    mia, noa, ole = people
    seen["statuses"] = [each["status"] for each in people]
    try:
        await company.applications.submit(job["id"], name="mia", email="mia@example.com")
    except ApiError as error:
        seen["twice"] = (error.status, error.code, bool(error.request_id))
        seen["in the way"] = error.existing_id == mia["id"]
    seen["queue"] = [each["id"] == noa["id"] async for each in company.jobs.queue(job["id"])]

    await leave(base_url, company, mia)
    seen["promoted"] = (await company.applications.get(noa["id"]))["status"]
    async with await portal(base_url, company, noa) as noas:
        seen["acknowledged"] = (await noas.applications.acknowledge(noa["id"]))["status"]
        told = [each["sentence"] async for each in noas.applications.timeline(noa["id"])]
        seen["timeline"] = told[-1]
    noa = await company.applications.remove(noa["id"], outcome="HIRED", note="Starts in May.")
    seen["hired"] = noa["outcome"]
    return noa, ole


async def find_people(company: AsyncClient, job: Any, noa: Any, seen: dict[str, Any]) -> None:
    """Find people by the company's own id and texts, with the decision on them."""
    changed = await company.applications.change(noa["id"], metadata={"source": "fair"})
    seen["attached"] = changed["metadata"]
    seen["changes"] = []
    for _ in range(LOOKS):
        changes = [page async for page in company.events.changes()]
        seen["changes"] = [each["kind"] for page in changes for each in page["data"]]
        if changes:
            break
        time.sleep(0.1)
    found = await company.applications.find("crm-noa")
    seen["own id"] = found is not None and found["id"] == noa["id"]
    seen["no such id"] = await company.applications.find("crm-nobody")
    hired = company.applications.list(
        job["id"], outcome="HIRED", metadata={"source": "fair"}, expand=["decision"], limit=1
    )
    seen["hires"] = [(each["external_id"], each["decision"]["note"]) async for each in hired]
    oldest = company.applications.list(job["id"], sort="applied_at", limit=2)
    seen["everyone"] = [each["external_id"] async for each in oldest]
    one = await company.applications.get(noa["id"], expand="decision")
    seen["decision"] = one["decision"]["note"] if one["decision"] else None
    applicant = await company.applicants.find("noa@example.com")
    seen["found"] = applicant is not None and applicant["id"] == noa["applicant"]["id"]


async def read_line(
    base_url: str, company: AsyncClient, job: Any, ole: Any, seen: dict[str, Any]
) -> None:
    """Follow the feed, continue from its cursor after another event, and read the log in pages."""
    everything: list[Any] = []
    where: dict[str, str] = {}
    for _ in range(LOOKS):
        async for page in company.events.pages(**where, expand="application"):
            everything += page["data"]
            where = {"cursor": page["next_cursor"]}
        if len(everything) >= EVENTS:
            break
        time.sleep(0.1)
    seen["feed"] = [each["event"] for each in everything]
    seen["whose"] = [(each["application"] or {}).get("external_id") for each in everything]
    await leave(base_url, company, ole)
    later: list[Any] = []
    for _ in range(LOOKS):
        later = [page["data"] async for page in company.events.pages(**where)]
        if later:
            break
        time.sleep(0.1)
    seen["later"] = [[each["event"] for each in page] for page in later]
    log = company.items(f"/jobs/{job['id']}/events", {"limit": 2})
    seen["pages of two"] = [each["seq"] async for each in log]
    seen["verdict"] = (await company.jobs.verify(job["id"]))["chain"]


async def portal(base_url: str, company: AsyncClient, application: Any) -> AsyncClient:
    """The company's own site, which acts for an applicant."""
    made = await company.applicants.create_token(application["applicant"]["id"])
    return AsyncClient(made["token"], base_url=base_url)


async def leave(base_url: str, company: AsyncClient, application: Any) -> None:
    """The applicant withdraws on the company's own site."""
    async with await portal(base_url, company, application) as theirs:
        await theirs.applications.withdraw(application["id"])


async def send_file(company: AsyncClient, seen: dict[str, Any]) -> None:
    """Send a person with a file that answers a question."""
    question = {"kind": "FILE", "key": "cv", "label": "Your CV", "required": True}
    job = await company.jobs.create(title="Writer", capacity=1, questions=[question])
    content = "Grüße from a CV".encode()
    cv = await company.applications.upload(job["id"], name="cv.txt", content=content)
    person: dict[str, Any] = {"name": "pia", "email": "pia@example.com"}
    pia = await company.applications.submit(job["id"], **person, answers={"cv": [cv["id"]]})
    files = [file async for file in company.applications.files(pia["id"])]
    seen["files"] = [[file["name"], file["content_type"]] for file in files]
    seen["bytes"] = await company.applications.download(pia["id"], cv["id"]) == content


async def retry(base_url: str, key: str) -> tuple[int, int, int]:
    """Create a job over a bad line: attempts, keys sent, and jobs that were made."""
    transport = FlakyTransport()
    async with AsyncClient(key, base_url=base_url, transport=transport) as company:
        await company.jobs.create(title="Bosun", capacity=1)
        made = [job async for job in company.jobs.list(search="Bosun")]
    posts = [key for path, key in transport.attempts if key]
    return len(posts), len(set(posts)), len(made)
