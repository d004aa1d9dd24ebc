// Verify a webhook as Standard Webhooks 1.0 says, and return its body. Zapier keeps the answer to the
// subscription, with the secret, in bundle.subscribeData.
const { createHmac, timingSafeEqual } = require("node:crypto");

const TOLERANCE_SECONDS = 5 * 60;

module.exports = (z, bundle) => {
  const { content, headers: sent } = bundle.rawRequest;
  const headers = Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [name.toLowerCase().replace(/^http-/, ""), value]),
  );
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures = "" } = headers;
  const key = Buffer.from(bundle.subscribeData.secret.replace(/^whsec_/, ""), "base64");
  const expected = Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${time}.${content}`).digest("base64"));
  const signed = signatures.split(" ").some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!signed || !(Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS)) {
    throw new z.errors.Error("The webhook is not signed with the secret of this subscription.", "BadWebhook", 401);
  }
  return [{ id, ...JSON.parse(content) }];
};
