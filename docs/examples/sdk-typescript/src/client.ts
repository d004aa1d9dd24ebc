import { ApiError, ConnectionFailed, problemOf } from "./errors.js";
import type { Company, Page } from "./models.js";
import { Applicants, Applications, Events, Jobs, Sandbox, Schedules, Tasks, Webhooks } from "./resources.js";
import { pauseBeforeRetry } from "./retries.js";
import { VERSION } from "./version.js";

export interface Options {
  /** An API key, an applicant's token or a portal token. */
  token?: string;
  /** The site's address, with or without `/api/v1`. */
  baseUrl?: string;
  /** How often a request is sent again. */
  maxRetries?: number;
  timeoutSeconds?: number;
  fetch?: typeof fetch;
}

/** Lists are sent with commas, and an object such as `metadata` as `metadata[key]=text`. */
export type Query = Record<string, string | number | boolean | string[] | Record<string, string> | null | undefined>;

export interface RequestOptions {
  query?: Query;
  json?: unknown;
  /** Instead of `json`, for an import or a file: its text or bytes, with a `Content-Type` in `headers`. */
  body?: string | Uint8Array;
  headers?: Record<string, string>;
  idempotencyKey?: string | undefined;
}

/**
 * Client with one credential. A request is retried after the pause that the API asks for. Each POST
 * carries an Idempotency-Key, so a retry does not act twice; see the README for an exception.
 */
export class NextInLine {
  readonly jobs = new Jobs(this);
  readonly applications = new Applications(this);
  readonly applicants = new Applicants(this);
  readonly events = new Events(this);
  readonly tasks = new Tasks(this);
  readonly webhooks = new Webhooks(this);
  readonly schedules = new Schedules(this);
  readonly sandbox = new Sandbox(this);

  private readonly root: string;
  private readonly headers: Record<string, string>;
  private readonly maxRetries: number;
  private readonly timeoutSeconds: number;
  private readonly send: typeof fetch;

  constructor(options: Options = {}) {
    this.root = `${(options.baseUrl ?? "http://127.0.0.1:8000").replace(/\/+$/, "").replace(/\/api\/v1$/, "")}/api/v1`;
    this.headers = { Accept: "application/json", "User-Agent": `nextinline-client-typescript/${VERSION}` };
    if (options.token) {
      this.headers["Authorization"] = `Bearer ${options.token}`;
    }
    this.maxRetries = options.maxRetries ?? 3;
    this.timeoutSeconds = options.timeoutSeconds ?? 30;
    this.send = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** Return the company of the key, with the key's own id and scopes. */
  ownCompany(): Promise<Company> {
    return this.call("GET", "/companies/me");
  }

  /** Send any request, and return the answer. Throws ApiError or ConnectionFailed. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers: Record<string, string> = { ...this.headers, ...options.headers };
    const init: RequestInit = { method, headers };
    if (method === "POST") {
      headers["Idempotency-Key"] = options.idempotencyKey ?? crypto.randomUUID();
    }
    if (options.json !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(options.json);
    }
    if (options.body !== undefined) {
      init.body = options.body as BodyInit;
    }
    const url = this.root + path + queryOf(options.query);
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.attempt(url, init);
      if (answer instanceof Response && answer.ok) {
        return answer;
      }
      const refusal = answer instanceof Response ? new ApiError(answer, await problemOf(answer)) : null;
      const pause = pauseBeforeRetry(refusal, attempt, this.maxRetries);
      if (pause === null) {
        throw refusal ?? new ConnectionFailed(`${method} ${url}: ${String(answer)}`, { cause: answer });
      }
      const place = answer instanceof Response ? answer.headers.get("Place-Token") : null;
      if (place) {
        headers["Place-Token"] = place; // the retry keeps its place before newcomers
      }
      await sleep(pause);
    }
  }

  /** Send a request and return the decoded JSON; null if it is empty. For files, `request`. */
  async call<Answer>(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const text = await (await this.request(method, path, options)).text();
    return (text === "" ? null : JSON.parse(text)) as Answer;
  }

  /** Yield every row of a list, fetching page after page. */
  async *items<Row>(path: string, query: Query = {}): AsyncGenerator<Row, void, undefined> {
    let cursor: string | null | undefined = undefined;
    let ended = false;
    do {
      const page: Page<Row> = await this.call("GET", path, { query: { ...query, cursor } });
      yield* page.data;
      ended = page.next_cursor === cursor; // the feed of events has no last page, but an end for now
      cursor = page.next_cursor;
    } while (cursor !== null && !ended);
  }

  private async attempt(url: string, init: RequestInit): Promise<unknown> {
    try {
      return await this.send(url, { ...init, signal: AbortSignal.timeout(this.timeoutSeconds * 1000) });
    } catch (error) {
      return error;
    }
  }
}

export function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

function queryOf(query: Query = {}): string {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    if (typeof value === "object" && !Array.isArray(value)) {
      for (const [key, text] of Object.entries(value)) sent.set(`${name}[${key}]`, text);
    } else {
      sent.set(name, String(value)); // a list too: with commas
    }
  }
  const text = sent.toString();
  return text === "" ? "" : `?${text}`;
}
