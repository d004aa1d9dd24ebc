// Receive webhooks, verify them and print them: node receive_webhooks.mjs [port]
//
// The secret of the endpoint stands in WEBHOOK_SECRET. Needs only Node 18 or newer. In a program of
// your own, the package `standardwebhooks` does what `verified` does here.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const TOLERANCE_SECONDS = 5 * 60;
const MOST_BYTES = 100_000;
const key = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
const seen = new Set(); // a real receiver keeps these ids in its database, with what it did

// Whether a request was signed with the secret, and lately.
function verified(headers, body) {
  const sent = headers["webhook-timestamp"] ?? "";
  const age = Math.abs(Date.now() / 1000 - Number(sent));
  if (!/^\d+$/.test(sent) || age > TOLERANCE_SECONDS) return false;
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${sent}.`), body]);
  const expected = Buffer.from("v1," + createHmac("sha256", key).update(signed).digest("base64"));
  // While a secret is being replaced there are two signatures, and either will do.
  return (headers["webhook-signature"] ?? "").split(" ").some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const server = createServer(async (request, response) => {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MOST_BYTES) return response.writeHead(413, { connection: "close" }).end();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (!verified(request.headers, body)) return response.writeHead(401).end();
  const id = request.headers["webhook-id"];
  if (!seen.has(id)) { // the same event may come more than once
    console.log(JSON.stringify({ id, ...JSON.parse(body) }));
    seen.add(id); // after the work: if that fails, the next attempt does it
  }
  response.writeHead(204).end();
});

server.listen(Number(process.argv[2] ?? 9000), "127.0.0.1", () => {
  console.error(`Listening on http://127.0.0.1:${server.address().port}`);
});
