// The region of a page that keeps itself up to date.
//
// A stream says that something has changed; then the region is fetched again, and every half
// minute anyway, with the tag of what is shown: 304 if that is still so. Where streams do not get
// through, the half minute is what is left; a region that shows something that moves without a
// stream asks more often, as its `data-poll-seconds` says. While the server is away, ever longer
// waits.
import { attempt } from "./attempt.js";
import { moveFrom, shownIn } from "./line_moves.js";
import { takeSlot } from "./stream_slots.js";
import { setTitle } from "./tab.js";
import { clockTime, compareServerTime, isForeignZone, serverNow, showTimesHere } from "./times.js";
import { showMoving } from "./transitions.js";
import { say } from "./voice.js";
import { t } from "./words.js";

const POLL_SECONDS = 30;
const SPREAD_MS = 250; // many pages hear of the same change at once
const WIDE_SPREAD_MS = 3_000; // … and all of them when the server is back
const FIRST_WAIT_MS = 1_000, LONGEST_WAIT_MS = 60_000;
const ANSWER_MS = 10_000;
const HIDDEN_MS = 15_000; // a tab that nobody sees keeps no connection for longer
const UNSEEN_MS = 60_000, LONGEST_UNSEEN_MS = 300_000; // looks of such a tab, if its title tells news
const STEADY_MS = 10_000; // a stream that lasted this long was a good one

// What the page says of itself: that it is live, or as of when it is; and what keeps it from more.
const asOf = (moment) => t("As of %(time)s", { time: clockTime(moment) });
const WORDS = {
  live: () => t("Live"),
  poll: asOf,
  away: (moment) => t("As of %(time)s. Reconnecting…", { time: clockTime(moment) }),
  broken: (moment) => t("As of %(time)s. This page could not update itself.", { time: clockTime(moment) }),
  over: () => t("This page has changed for you."),
};
const RELOADED = ["broken", "over"]; // what a reload may mend
const SPOKEN = ["away", ...RELOADED];

class LiveRegion {
  constructor(region, state) {
    this.region = region;
    this.state = state;
    this.tag = region.dataset.tag;
    this.title = this.titleNow();
    this.news = this.newsNow();
    this.shownAt = serverNow();
    this.unseenLooks = 0;
    this.address = region.dataset.stream;
    this.failures = 0; // of fetching, in a row
    this.faults = 0; // of showing what was fetched, in a row
    this.drops = 0; // of the stream, in a row
    this.mayStream = 0; // not before this moment; then without waiting for the next look
  }

  start() {
    this.region.addEventListener("time-is-up", () => this.later(this.some(SPREAD_MS) + 300));
    document.addEventListener("visibilitychange", () => this.seen());
    addEventListener("pagehide", () => this.rest());
    addEventListener("pageshow", (event) => event.persisted && this.wake());
    addEventListener("clock-jump", () => this.woke());
    this.listen();
    this.show();
    this.later(isForeignZone && !document.hidden ? 0 : this.pause()); // sentences name times, too
    if (document.hidden) this.seen(); // opened in the background, perhaps never looked at
  }

  // --- fetching

  some = (span) => Math.random() * span;

  // 0: what the region shows is over, and never changes again.
  seconds = () =>
    Number(this.region.querySelector("[data-poll-seconds]")?.dataset.pollSeconds ?? POLL_SECONDS);

  pause = () =>
    this.watching
      ? Math.min(LONGEST_UNSEEN_MS, UNSEEN_MS * 1.1 ** this.unseenLooks++)
      : this.seconds() * (850 + this.some(300));

  // Look again after so many ms, or earlier if that was planned already.
  later(wait) {
    const at = Date.now() + wait;
    if (this.over || this.resting || !this.seconds() || (this.timer && this.due <= at)) return;
    clearTimeout(this.timer);
    this.due = at;
    this.timer = setTimeout(() => this.look(), wait);
  }

  async look() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.looking) return void (this.again = true);
    this.looking = true;
    const wait = await this.fetch().then((answer) => this.take(answer), () => this.missed())
      .catch((error) => this.failed(error));
    this.looking = false;
    this.looked = true;
    this.later(this.again ? this.some(SPREAD_MS) : wait);
    this.again = false;
    this.show();
  }

  async fetch() {
    const sent = Date.now();
    const answer = await fetch(this.region.dataset.live, {
      headers: { "If-None-Match": this.tag },
      redirect: "manual",
      cache: "no-store",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    compareServerTime(answer.headers.get("Server-Time"), sent);
    return { answer, html: answer.status === 200 ? await answer.text() : "" };
  }

  // What the server answered; gives how long to wait now.
  async take({ answer, html }) {
    if (answer.status >= 500 || answer.status === 429) return this.missed();
    if (answer.status !== 200 && answer.status !== 304) return this.end();
    this.failures = 0;
    this.follow(answer.headers.get("X-Live-Stream"));
    if (answer.status === 200) {
      const picture = () => this.region.querySelector(".line-picture");
      const before = attempt(() => shownIn(picture()));
      await showMoving(this.region, html);
      this.tag = answer.headers.get("ETag"); // not before: what was not shown is asked for again
      attempt(() => moveFrom(before, picture()));
      attempt(showTimesHere);
      attempt(() => this.retitle());
      attempt(() => this.tell());
      document.dispatchEvent(new Event("region-changed"));
    }
    this.faults = 0;
    this.shownAt = serverNow();
    this.listen();
    const over = [...this.region.querySelectorAll("count-down")].some((one) => one.over);
    return over ? Math.min(this.pause(), this.growing((this.checks = (this.checks ?? 0) + 1)))
      : ((this.checks = 0), this.pause());
  }

  titleNow = () => this.region.querySelector("[data-title]")?.dataset.title;

  // The tab says what the page says; a word of thanks for what is over would now be wrong.
  retitle() {
    const title = this.titleNow();
    if (!title || title === this.title) return;
    setTitle((this.title = title));
    document.querySelectorAll(".messages .notice.success").forEach((notice) => notice.remove());
  }

  // What the page's title or its [data-says] says now, for readers who do not see it change.
  newsNow = () => this.region.querySelector("[data-says]")?.dataset.says ??
    this.titleNow()?.replace(/ · [^·]*$/, "");

  tell() {
    const news = this.newsNow();
    if (news && news !== this.news) say(news);
    this.news = news;
  }

  missed() {
    this.failures += 1;
    return this.growing(this.failures);
  }

  failed(error) {
    reportError(error);
    this.faults += 1;
    return this.growing(this.faults);
  }

  growing = (times) =>
    Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (times - 1)) * (0.5 + this.some(0.5));

  // Signed out, or no longer there: the server will say more than we can.
  end() {
    this.over = true;
    this.rest();
    return 0;
  }

  // --- the stream

  // Its address is another each time; what it is about stands before its first colon.
  follow(address) {
    const about = (one) => one?.split(":")[0];
    if (this.slot && about(address) !== about(this.address)) this.close();
    this.address = address;
  }

  listen() {
    clearTimeout(this.retry);
    if (!this.address || this.slot || this.over || this.resting || document.hidden) return;
    const early = this.mayStream - Date.now();
    if (early > 0) return void (this.retry = setTimeout(() => this.listen(), early));
    this.slot = takeSlot(() => attempt(() => this.open()));
  }

  open() {
    const stream = (this.stream = new EventSource(this.address));
    this.unopened = setTimeout(() => this.dropped(), ANSWER_MS);
    stream.onopen = () => {
      clearTimeout(this.unopened);
      this.opened = Date.now();
      this.show();
      if (this.drops) this.later(this.some(WIDE_SPREAD_MS)); // what was told meanwhile is lost
    };
    stream.onerror = () => this.dropped();
    stream.addEventListener("change", () => this.later(this.some(SPREAD_MS)));
    stream.addEventListener("check", () => this.later(this.some(WIDE_SPREAD_MS)));
  }

  // Whether the server is away or only streams do not get through, the next look tells.
  dropped() {
    if (this.opened && Date.now() - this.opened > STEADY_MS) this.drops = 0;
    this.close();
    this.drops += 1;
    this.mayStream = Date.now() + (this.drops > 1 ? this.growing(this.drops) : 0);
    this.show();
    this.later(this.drops > 1 ? this.growing(this.drops) : this.some(FIRST_WAIT_MS));
  }

  close() {
    clearTimeout(this.unopened);
    this.stream?.close();
    this.slot?.();
    this.slot = this.stream = this.opened = undefined;
  }

  // --- the reader

  seen() {
    clearTimeout(this.unseen);
    if (document.hidden) this.unseen = setTimeout(() => this.leave(), HIDDEN_MS);
    else if (this.resting || this.watching) this.wake();
  }

  // Nobody looks. Where the title tells news, it goes on doing so, slowly; else all rests.
  leave() {
    this.rest();
    if (!this.title || this.over) return;
    this.resting = false;
    this.watching = true;
    this.unseenLooks = 0;
    this.later(this.pause());
  }

  rest() {
    this.resting = true;
    clearTimeout(this.timer);
    clearTimeout(this.retry);
    this.timer = undefined;
    this.close();
  }

  wake() {
    if (this.over) return;
    this.resting = this.watching = false;
    this.look();
  }

  // The device slept: what was told meanwhile is lost, and the connection may be dead.
  woke() {
    if (this.over || this.resting) return;
    this.close();
    this.mayStream = 0;
    this.look();
  }

  show() {
    if (!this.state) return;
    if (!this.seconds() && !this.over) return void (this.state.hidden = true);
    const name = this.over ? "over" : this.faults ? "broken" : this.failures ? "away" : this.opened ? "live" : "poll";
    const words = WORDS[name](this.shownAt), before = this.state.dataset.state;
    if (before === name && this.state.textContent.startsWith(words)) return;
    if (name === "poll" && this.stream && !this.looked) return; // it may open yet
    this.state.dataset.state = name;
    this.state.textContent = words;
    if (before !== name && (SPOKEN.includes(name) || SPOKEN.includes(before))) say(words);
    if (RELOADED.includes(name)) this.state.append(" ", this.reload());
  }

  reload() {
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = t("Reload");
    return link;
  }
}

const region = document.querySelector("[data-live]");
if (region) attempt(() => new LiveRegion(region, document.getElementById("live-state")).start());
