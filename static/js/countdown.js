// <count-down until="…" now="…" at="…">: the time that is left, on the server's clock. `now` is on the
// clock of `until`, which in a sandbox is another one; `at` is the same moment on the server's.
import { showTimeLeft } from "./tab.js";
import { noteServerTime, serverNow } from "./times.js";
import { say } from "./voice.js";
import { inUnit, t } from "./words.js";

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const LATE_SECONDS = 3;
const SPOKEN = [[60, "1 minute left."], [300, "5 minutes left."], [900, "15 minutes left."], [3600, "1 hour left."],
  [14400, "4 hours left."], [86400, "24 hours left."]];

// In its two largest units, as the server words it.
function duration(seconds) {
  let left = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    left %= size;
    if (count || parts.length) parts.push(count ? inUnit(count, unit) : "");
  }
  return parts.slice(0, 2).filter(Boolean).join(" ") || inUnit(0, "s");
}

class CountDown extends HTMLElement {
  static observedAttributes = ["until", "now", "at"];

  connectedCallback() {
    this.timer = setInterval(() => this.tick(), 1000);
    this.tick();
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    if (this.isOwn) showTimeLeft(0); // until another one ticks
  }

  // A deadline of the reader, not of someone else on the page.
  get isOwn() {
    return "own" in this.dataset;
  }

  attributeChangedCallback(name, before, value) {
    if (name === "until") {
      this.end = Date.parse(value);
      this.spoken = this.over = undefined;
      return;
    }
    this.offset = Date.parse(this.getAttribute("now")) - Date.parse(this.getAttribute("at"));
    if (name === "at") noteServerTime(value);
  }

  now = () => serverNow() + (this.offset || 0);

  tick() {
    const left = (this.end - this.now()) / 1000;
    const out = this.querySelector("[role=timer]");
    if (!out || Number.isNaN(left)) return;
    const looked = document.querySelector("[data-live]") !== null;
    const words = left > 0 ? duration(left) : looked ? t("time is up, checking…") : t("time is up");
    if (out.textContent !== words) out.textContent = words;
    this.drawRing(left);
    this.speak(left);
    if (this.isOwn && this.endsFirst("count-down[data-own]")) showTimeLeft(left);
    if (left <= 0 && !this.over) {
      this.over = true;
      this.dispatchEvent(new CustomEvent("time-is-up", { bubbles: true }));
    }
  }

  // The ring around a seat, of which as much is drawn as is left of the time.
  drawRing(left) {
    const ring = this.closest("[data-turn]")?.querySelector("[data-ring]");
    if (!ring) return;
    const share = Math.max(0, Math.min(100, (100 * left) / ring.dataset.ring));
    ring.setAttribute("stroke-dasharray", `${share.toFixed(1)} 100`);
  }

  speak(left) {
    const [seconds, words] = SPOKEN.find(([most]) => left <= most) ?? [];
    const mark = left > 0 ? words : "over";
    const first = this.spoken === undefined;
    if (mark === this.spoken) return;
    this.spoken = mark ?? null;
    if (!mark || first || !this.endsFirst()) return;
    const isLate = seconds - left > LATE_SECONDS; // the device slept past the mark
    if (mark === "over") say(t("Time is up."));
    else say(isLate ? t("%(duration)s left.", { duration: duration(left) }) : t(mark));
  }

  // Only the deadline that ends first is spoken of, and shown in the tab: several would be noise.
  endsFirst(kind = "count-down") {
    const others = [...document.querySelectorAll(kind)];
    return others.every((other) => !(other.end < this.end && other.end > other.now()));
  }
}

addEventListener("clock", () => document.querySelectorAll("count-down").forEach((each) => each.tick()));

customElements.define("count-down", CountDown);
