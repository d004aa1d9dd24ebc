// The whole story, as a program with the TypeScript client tells it: node sdk_story.mjs CLIENT URL KEY TEST_KEY
// Prints what was seen, as JSON.
const [client, baseUrl, key, testKey] = process.argv.slice(2);
const { ApiError, BadWebhook, ConnectionFailed, NextInLine, verifyWebhook } = await import(client);

const company = new NextInLine({ token: key, baseUrl });
const seen = {};

async function portal(application) {
  const made = await company.applicants.createToken(application.applicant.id);
  return new NextInLine({ token: made.token, baseUrl });
}

async function leave(application) {
  await (await portal(application)).applications.withdraw(application.id);
}

async function all(rows) {
  const found = [];
  for await (const row of rows) found.push(row);
  return found;
}

const job = await company.jobs.create({ title: "Cook", capacity: 1 }, { idempotencyKey: "spring" });
const again = await company.jobs.create({ title: "Cook", capacity: 1 }, { idempotencyKey: "spring" });
seen["one job"] = job.id === again.id;
const people = [];
for (const name of ["mia", "noa", "ole"]) {
  const person = { name, email: `${name}@example.com`, external_id: `crm-${name}` };
  people.push(await company.applications.submit(job.id, person));
}
const [mia, noa, ole] = people;
seen["statuses"] = people.map((each) => each.status);
try {
  await company.applications.submit(job.id, { name: "mia", email: "mia@example.com" });
} catch (error) {
  seen["twice"] = error instanceof ApiError ? [error.status, error.code, error.requestId !== ""] : String(error);
  seen["in the way"] = error.existingId === mia.id;
}
seen["queue"] = (await all(company.jobs.queue(job.id))).map((each) => each.id === noa.id);

await leave(mia);
seen["promoted"] = (await company.applications.get(noa.id)).status;
const noas = await portal(noa);
seen["acknowledged"] = (await noas.applications.acknowledge(noa.id)).status;
seen["timeline"] = (await all(noas.applications.timeline(noa.id))).at(-1).sentence;
seen["hired"] = (await company.applications.remove(noa.id, { outcome: "HIRED", note: "Starts in May." })).outcome;

const changed = await company.applications.change(noa.id, { metadata: { source: "fair" } });
seen["attached"] = changed.metadata;
seen["own id"] = (await company.applications.find("crm-noa")).id === noa.id;
seen["no such id"] = await company.applications.find("crm-nobody");
const hired = { outcome: "HIRED", metadata: { source: "fair" }, expand: ["decision"], limit: 1 };
const hires = await all(company.applications.list(job.id, hired));
seen["hires"] = hires.map((each) => [each.external_id, each.decision.note]);
const oldest = await all(company.applications.list(job.id, { sort: "applied_at", limit: 2 }));
seen["everyone"] = oldest.map((each) => each.external_id);
seen["decision"] = (await company.applications.get(noa.id, "decision")).decision.note;

// An event is in the feed once no older transaction of the whole database server is running.
let where = {};
seen["feed"] = [];
seen["whose"] = [];
for (let look = 0; look < 300 && seen["feed"].length < 10; look++) {
  if (look) await new Promise((go) => setTimeout(go, 100));
  for await (const page of company.events.pages({ ...where, expand: "application" })) {
    seen["feed"].push(...page.data.map((each) => each.event));
    seen["whose"].push(...page.data.map((each) => each.application?.external_id ?? null));
    where = { cursor: page.next_cursor };
  }
}
const changes = await all(company.events.changes());
seen["changes"] = changes.flatMap((page) => page.data.map((each) => each.kind));
await leave(ole);
let later = [];
for (let look = 0; look < 300 && !later.length; look++) {
  if (look) await new Promise((go) => setTimeout(go, 100));
  later = await all(company.events.pages(where));
}
seen["later"] = later.map((page) => page.data.map((each) => each.event));
seen["pages of two"] = (await all(company.items(`/jobs/${job.id}/events`, { limit: 2 }))).map((each) => each.seq);
seen["verdict"] = (await company.jobs.verify(job.id)).chain;
seen["found"] = (await company.applicants.find("noa@example.com")).id === noa.applicant.id;
const [read, etag] = await company.jobs.getWithETag(job.id);
seen["capacity"] = (await company.jobs.change(read.id, { capacity: 2 }, etag)).capacity;
seen["secret"] = (await company.webhooks.create("https://example.com/hooks")).secret;

const cv = { kind: "FILE", key: "cv", label: "Your CV", required: true };
const writer = await company.jobs.create({ title: "Writer", capacity: 1, questions: [cv] });
const bytes = new TextEncoder().encode("Grüße from a CV");
const upload = await company.applications.upload(writer.id, "cv.txt", bytes);
const pia = { name: "pia", email: "pia@example.com", answers: { cv: [upload.id] } };
const sent = await company.applications.submit(writer.id, pia);
seen["files"] = (await all(company.applications.files(sent.id))).map((each) => [each.name, each.content_type]);
const got = await company.applications.download(sent.id, upload.id);
seen["bytes"] = new TextDecoder().decode(got) === new TextDecoder().decode(bytes);

const trial = new NextInLine({ token: testKey, baseUrl });
const moved = await trial.sandbox.advance(3600, { idempotencyKey: "an hour" });
const repeated = await trial.sandbox.advance(3600, { idempotencyKey: "an hour" });
seen["moved"] = [moved.id === repeated.id, (await trial.sandbox.clock()).clock_offset_seconds];
seen["live clock"] = await company.sandbox.clock().catch((error) => error.code);
const slept = await trial.tasks.start({ type: "report.weekly", payload: { job_id: (await trial.jobs.create({ title: "Cook", capacity: 1 })).id } });
seen["waited"] = await trial.tasks.wait(slept.id, { everySeconds: 0.01, atMostSeconds: 0.05 }).catch(() => "not yet");

// A bad line: the first attempt is refused, and the answer to the second is lost.
const posts = [];
const flaky = async (url, init) => {
  if (init.method !== "POST") return fetch(url, init);
  posts.push(init.headers["Idempotency-Key"]);
  if (posts.length === 1) return new Response("{}", { status: 503, headers: { "Retry-After": "0" } });
  const answer = await fetch(url, init);
  if (posts.length === 2) throw new TypeError("the answer was lost");
  return answer;
};
await new NextInLine({ token: key, baseUrl, fetch: flaky }).jobs.create({ title: "Bosun", capacity: 1 });
const made = await all(company.jobs.list({ search: "Bosun" }));
seen["retried"] = [posts.length, new Set(posts).size, made.length];

try {
  await new NextInLine({ baseUrl: "http://127.0.0.1:9", maxRetries: 1 }).jobs.get(job.id);
} catch (error) {
  seen["nobody there"] = error instanceof ConnectionFailed && error.message.includes("127.0.0.1:9");
}

// Webhooks come on standard input: one JSON per line, with what should be said of each.
const { createInterface } = await import("node:readline");
seen["webhooks"] = [];
for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    seen["webhooks"].push((await verifyWebhook({ secret, headers, body })).type);
  } catch (error) {
    seen["webhooks"].push(error instanceof BadWebhook ? "refused" : String(error));
  }
}
console.log(JSON.stringify(seen));
