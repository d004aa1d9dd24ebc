// <count-down until="…" now="…">: the time that is left, on the server's clock.
import { showTimeLeft } from "./tab.js";
import { noteServerTime, serverNow } from "./times.js";
import { say } from "./voice.js";

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const SPOKEN = [[60, "1 minute"], [300, "5 minutes"], [900, "15 minutes"], [3600, "1 hour"],
  [14400, "4 hours"], [86400, "24 hours"]];

// In its two largest units, as the server words it.
function duration(seconds) {
  let left = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    left %= size;
    if (count || parts.length) parts.push(count ? `${count} ${unit}` : "");
  }
  return parts.slice(0, 2).filter(Boolean).join(" ") || "0 s";
}

class CountDown extends HTMLElement {
  static observedAttributes = ["until", "now"];

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
    if (name === "now") return noteServerTime(value);
    this.end = Date.parse(value);
    this.spoken = this.over = undefined;
  }

  tick() {
    const left = (this.end - serverNow()) / 1000;
    const out = this.querySelector("[role=timer]");
    if (!out || Number.isNaN(left)) return;
    const looked = document.querySelector("[data-live]") !== null;
    const words = left > 0 ? duration(left) : looked ? "time is up, checking…" : "time is up";
    if (out.textContent !== words) out.textContent = words;
    this.speak(left);
    if (this.isOwn && this.endsFirst("count-down[data-own]")) showTimeLeft(left);
    if (left <= 0 && !this.over) {
      this.over = true;
      this.dispatchEvent(new CustomEvent("time-is-up", { bubbles: true }));
    }
  }

  speak(left) {
    const mark = left > 0 ? SPOKEN.find(([seconds]) => left <= seconds)?.[1] : "over";
    const first = this.spoken === undefined;
    if (mark === this.spoken) return;
    this.spoken = mark ?? null;
    if (!mark || first || !this.endsFirst()) return;
    say(mark === "over" ? "Time is up." : `${mark} left.`);
  }

  // Only the deadline that ends first is spoken of, and shown in the tab: several would be noise.
  endsFirst(kind = "count-down") {
    const others = [...document.querySelectorAll(kind)];
    return others.every((other) => !(other.end < this.end && other.end > serverNow()));
  }
}

customElements.define("count-down", CountDown);
