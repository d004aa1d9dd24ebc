const FIRST_PAUSE_SECONDS = 0.5;
const LONGEST_PAUSE_SECONDS = 30;
/** A request was not carried out, or can be repeated: each POST carries an Idempotency-Key. */
const PASSING_STATUSES = new Set([502, 503, 504]);
/** These pass within a minute or so: the first attempt is still running, or a sandbox's clock moves. */
const PASSING_CODES = new Set(["IDEMPOTENCY_KEY_IN_USE", "CLOCK_MOVING"]);
const RETRIES_FOR_A_MINUTE = 9;
const RETRIES_OF_500 = 2;

/** What a retry is decided by. */
export interface Refusal {
  status: number;
  code: string;
  retryAfter: string | null;
}

/**
 * Return the seconds to wait before another attempt, or null if it would be wrong or useless.
 *
 * `refusal` is null if no answer came; `attempt` counts from 1.
 */
export function pauseBeforeRetry(
  refusal: Refusal | null,
  attempt: number,
  maxRetries: number,
): number | null {
  if (attempt > mostRetries(refusal, maxRetries)) {
    return null;
  }
  const wanted = Number(refusal?.retryAfter ?? "x");
  if (Number.isNaN(wanted)) {
    return growingPause(attempt);
  }
  return wanted <= LONGEST_PAUSE_SECONDS ? wanted : null;
}

function mostRetries(refusal: Refusal | null, usual: number): number {
  if (refusal?.status === 429) {
    return usual;
  }
  if (refusal?.status === 409) {
    return PASSING_CODES.has(refusal.code) && usual > 0 ? Math.max(usual, RETRIES_FOR_A_MINUTE) : 0;
  }
  if (refusal === null || PASSING_STATUSES.has(refusal.status)) {
    return usual;
  }
  return refusal.status === 500 ? Math.min(usual, RETRIES_OF_500) : 0;
}

function growingPause(attempt: number): number {
  const longest = Math.min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (attempt - 1));
  return longest * (0.5 + Math.random() / 2);
}
