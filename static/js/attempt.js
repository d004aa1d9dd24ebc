// Runs one thing, so that the others run in any case: an error is reported, not passed on.
export function attempt(act, ...given) {
  try {
    return act(...given);
  } catch (error) {
    reportError(error);
  }
}
