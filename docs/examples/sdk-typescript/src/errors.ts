export interface FieldError {
  pointer: string;
  code: string;
  detail: string;
}

/** No answer came, after every retry. */
export class ConnectionFailed extends Error {}

/** The API refused a request. Distinguish refusals by `code`, like `DUPLICATE_SUBMISSION`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors: FieldError[];
  /** Send it with a question to whoever runs the site. */
  readonly requestId: string;
  /** Seconds, if it makes sense to try again later. */
  readonly retryAfter: string | null;
  /** The object that is in the way of a 409, if there is one. */
  readonly existingId: string | null;
  readonly problem: Record<string, unknown>;

  constructor(answer: Response, problem: Record<string, unknown>) {
    const code = String(problem["code"] ?? "");
    const detail = String(problem["detail"] ?? answer.statusText);
    super(`${answer.status} ${code}: ${detail}`);
    this.name = "ApiError";
    this.status = answer.status;
    this.code = code;
    this.detail = detail;
    this.errors = Array.isArray(problem["errors"]) ? (problem["errors"] as FieldError[]) : [];
    this.requestId = answer.headers.get("x-request-id") ?? "";
    this.retryAfter = answer.headers.get("retry-after");
    this.existingId = typeof problem["existing_id"] === "string" ? problem["existing_id"] : null;
    this.problem = problem;
  }
}

/** Return the problem in the body of a refusal; empty if there is none. */
export async function problemOf(answer: Response): Promise<Record<string, unknown>> {
  try {
    const found: unknown = await answer.json();
    return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
