// Room for streams. Without HTTP/2, a browser has six connections to a site, for all its tabs: if
// streams took them all, no page could be fetched. So they share some; who gets none waits for one.
const SLOTS = 4;
const isLimited = !/^h[23]/.test(performance.getEntriesByType("navigation")[0]?.nextHopProtocol);

// Calls `open` as soon as there is room. Returns what gives the room back, or gives up waiting.
export function takeSlot(open) {
  if (!isLimited || !navigator.locks) { // which only secure pages have
    open();
    return () => {};
  }
  const waiting = new AbortController();
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  const take = () => {
    if (waiting.signal.aborted) return undefined; // another slot was free, too
    waiting.abort();
    open();
    return held;
  };
  for (let slot = 0; slot < SLOTS; slot += 1)
    navigator.locks.request(`live-stream-${slot}`, { signal: waiting.signal }, take).catch(() => {});
  return () => {
    waiting.abort();
    release();
  };
}
