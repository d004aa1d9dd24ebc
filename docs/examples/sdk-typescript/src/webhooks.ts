const TOLERANCE_SECONDS = 5 * 60;

/** The request was not signed with the secret, or not lately. Answer 401. */
export class BadWebhook extends Error {}

/** A verified webhook. It may come more than once, each time with the same `id`. */
export interface Webhook {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
  /** Whether it is of a sandbox. */
  test: boolean;
}

/**
 * Verify a request as Standard Webhooks 1.0 says, and return its content. Throws BadWebhook.
 *
 * `body` holds the raw bytes or text: parsing and encoding it again would change the signature.
 * `now` is in seconds.
 */
export async function verifyWebhook(request: {
  secret: string;
  headers: Headers | Record<string, string | string[] | undefined>;
  body: Uint8Array | string;
  now?: number;
}): Promise<Webhook> {
  const header = readerOf(request.headers);
  const id = header("webhook-id");
  const sent = header("webhook-timestamp");
  const now = request.now ?? Date.now() / 1000;
  if (id === "" || !/^[0-9]+$/.test(sent) || Math.abs(now - Number(sent)) > TOLERANCE_SECONDS) {
    throw new BadWebhook("the time of the webhook is missing or too far off");
  }
  const body = typeof request.body === "string" ? new TextEncoder().encode(request.body) : request.body;
  const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${sent}.`), ...body]);
  const key = await crypto.subtle.importKey(
    "raw",
    decoded(request.secret.replace(/^whsec_/, "")),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["verify"],
  );
  // While a secret is being replaced there are two signatures, and either will do.
  for (const each of header("webhook-signature").split(" ")) {
    const signature = each.startsWith("v1,") ? decoded(each.slice(3)) : null;
    if (signature !== null && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
      const content = JSON.parse(new TextDecoder().decode(body)) as Omit<Webhook, "id" | "test"> & { test?: boolean };
      const { type, timestamp, data, test = false } = content;
      return { id, type, timestamp, data, test };
    }
  }
  throw new BadWebhook("the webhook is not signed with this secret");
}

function readerOf(
  headers: Headers | Record<string, string | string[] | undefined>,
): (name: string) => string {
  if (headers instanceof Headers) {
    return (name) => headers.get(name) ?? "";
  }
  const known = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = known.get(name);
    return typeof value === "string" ? value : (value?.[0] ?? "");
  };
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new BadWebhook("a signature or the secret is not base64");
  }
}
