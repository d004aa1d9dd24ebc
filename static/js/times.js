// Times: the server's clock, the reader's zone, and how long ago something was.
import { inUnit, isEnglish, locale, t, writtenPlace } from "./words.js";

const MINUTE = 60, HOUR = 3600, DAY = 86400, WEEK = 7 * DAY;
const LONGEST_KEPT = 28 * DAY; // from here on only the calendar knows how many months it was
const YEAR_SECONDS = 365 * DAY;
const A_MOMENT_MS = 5_000; // times under a minute stand beside count-downs: they must not stand still

// The server's clock is this device's, put right by so many ms. A moment that the server named was on
// its way for a while, so whatever makes the server look further ahead is nearer to the truth.
let ahead = -Infinity;

export function noteServerTime(moment) {
  const told = Date.parse(moment);
  if (!Number.isNaN(told)) ahead = Math.max(ahead, told - Date.now());
}

// The moment of an answer lies between asking, at `sent` by this device, and now.
export function compareServerTime(moment, sent) {
  const told = Date.parse(moment);
  if (Number.isNaN(told)) return false;
  ahead = Math.max(Math.min(ahead, told - sent), told - Date.now());
  return true;
}

export function serverNow() {
  noticeJump();
  return Date.now() + (Number.isFinite(ahead) ? ahead : 0);
}

// Date.now() goes on while the device sleeps, where performance.now() may stand still; but someone
// may set the former. Ahead of the latter, it is taken to be right; put back, it is not. Then the
// server is asked, because nothing here can tell a sleep from a clock that was set.
const JUMP_MS = 1_000, ANSWER_MS = 10_000, FIRST_RETRY_MS = 1_000, LONGEST_RETRY_MS = 60_000;
let apart = Date.now() - performance.now(), retry, wait = FIRST_RETRY_MS;

function noticeJump() {
  const jump = Date.now() - performance.now() - apart;
  if (Math.abs(jump) < JUMP_MS) return;
  apart += jump;
  if (jump < 0) ahead -= jump;
  askServerTime();
  dispatchEvent(new Event("clock-jump"));
}

async function askServerTime() {
  clearTimeout(retry);
  const sent = Date.now();
  try {
    const answer = await fetch("/live/clock", { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) });
    if (!compareServerTime(answer.headers.get("Server-Time"), sent)) throw new Error("no time");
    retry = undefined;
    wait = FIRST_RETRY_MS;
    dispatchEvent(new Event("clock"));
  } catch {
    retry = setTimeout(askServerTime, wait);
    wait = Math.min(2 * wait, LONGEST_RETRY_MS);
  }
}

// After a sleep, timers may take long to run again; what wakes the page does not.
function wake() {
  noticeJump();
  dispatchEvent(new Event("clock"));
}
document.addEventListener("visibilitychange", wake);
addEventListener("pageshow", wake);
addEventListener("online", () => retry === undefined ? wake() : askServerTime());
noteServerTime(document.querySelector("meta[name=server-time]")?.content);
// From the browser's cache, a page comes with the time at which it was made.
if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") askServerTime();

// The zone of this browser, and the one in which the server wrote this page.
const zone = usableZone(Intl.DateTimeFormat().resolvedOptions().timeZone);
const written = document.querySelector("meta[name=time-zone]")?.content;
export const isForeignZone = Boolean(written && zone !== written);
const placeOf = (name) => name.split("/").at(-1).replaceAll("_", " ");
// As the server names the place of the zone in which it wrote the page.
const placeThere = writtenPlace ?? (written && placeOf(written));
// The browser knows the places of zones in English alone; elsewhere the zone has a name: "Mitteleuropäische Zeit".
const placeHere = isEnglish ? placeOf(zone) : new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: "longGeneric" })
  .formatToParts().find(({ type }) => type === "timeZoneName").value;
const WITH_SECONDS = /\d\d:\d\d:\d\d/;

// Some browsers name a zone that they refuse themselves, like Etc/Unknown.
function usableZone(name) {
  try {
    return name && Intl.DateTimeFormat("en", { timeZone: name }) ? name : "UTC";
  } catch {
    return "UTC";
  }
}

function inParts(moment) {
  const how = { timeZone: zone, hourCycle: "h23", weekday: "long", day: "numeric", month: "long",
    year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const parts = new Intl.DateTimeFormat("en-US", how).formatToParts(moment);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value]));
}

// A moment of this device's clock as "14:05".
export function clockTime(moment) {
  if (!isEnglish) return new Intl.DateTimeFormat(locale, { timeZone: zone, timeStyle: "short" }).format(moment);
  const at = inParts(new Date(moment));
  return `${at.hour}:${at.minute}`;
}

// The same, in the words of another language than English.
const inWords = (time, how) => new Intl.DateTimeFormat(locale, { timeZone: zone, ...how }).format(new Date(time.dateTime));

function inShort(time, hasYear, hasSeconds) {
  const how = { weekday: "short", day: "numeric", month: "short", hour: "numeric", minute: "2-digit" };
  return inWords(time, { ...how, ...(hasYear && { year: "numeric" }), ...(hasSeconds && { second: "2-digit" }) });
}

// Times that the server wrote in another zone, because it did not know this one yet, in this one.
export function showTimesHere() {
  if (!isForeignZone) return;
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (!time.title.endsWith(`(${placeThere})`) || time.closest("[data-zone-fixed]")) continue;
    const at = inParts(new Date(time.dateTime)), place = `(${placeHere})`;
    const minutes = `${at.hour}:${at.minute}`, seconds = `${minutes}:${at.second}`;
    const isSpan = "lasting" in time.dataset || "waited" in time.dataset;
    const full = isEnglish ? `${at.weekday} ${at.day} ${at.month} ${at.year}, ${seconds} ${place}` : `${inWords(time, { dateStyle: "full", timeStyle: "medium" })} ${place}`;
    time.title = isSpan ? t("since %(time)s", { time: full }) : full;
    if ("relative" in time.dataset || "waited" in time.dataset) continue;
    const year = at.year === inParts(new Date(serverNow())).year ? "" : ` ${at.year}`;
    const clock = WITH_SECONDS.test(time.textContent) ? seconds : minutes;
    time.textContent = isEnglish
      ? `${at.weekday.slice(0, 3)} ${at.day} ${at.month.slice(0, 3)}${year}, ${clock} ${place}`
      : `${inShort(time, Boolean(year), clock === seconds)} ${place}`;
  }
  const words = document.getElementById("zone-words");
  if (words) words.textContent = t("your time zone, %(zone)s", { zone: zone.replaceAll("_", " ") });
}

// Pages show times in the zone of this cookie from the next one on.
export function tellTimeZone() {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `time_zone=${zone}; path=/; max-age=${YEAR_SECONDS}; SameSite=Lax${secure}`;
}

const counted = (count, unit) => `${count} ${unit}${count === 1 ? "" : "s"}`;

// The words of Django's naturaltime, so that nothing changes but the number.
function words(seconds) {
  if (!isEnglish) return relative(seconds);
  const future = seconds < 0, span = Math.abs(seconds), end = future ? "from now" : "ago";
  if (span < 1) return "just now";
  if (span < MINUTE) return span === 1 ? `a second ${end}` : `${span} seconds ${end}`;
  const minutes = Math.floor(span / MINUTE), hours = Math.floor(span / HOUR);
  if (span < HOUR) return minutes === 1 ? `a minute ${end}` : `${minutes} minutes ${end}`;
  if (span < DAY) return hours === 1 ? `an hour ${end}` : `${hours} hours ${end}`;
  return `${twoLargest(span)} ${end}`;
}

// A span in the largest of some units.
const SIZES = [["year", 365 * DAY], ["month", 30 * DAY], ["week", WEEK], ["day", DAY], ["hour", HOUR], ["minute", MINUTE], ["second", 1]];

function inLargest(seconds, sizes) {
  const [unit, size] = sizes.find(([, size]) => Math.abs(seconds) >= size) ?? sizes.at(-1);
  return [Math.trunc(seconds / size), unit];
}

// As CLDR words it, for all languages but English.
function relative(seconds) {
  const [count, unit] = inLargest(seconds, SIZES);
  return new Intl.RelativeTimeFormat(locale, { numeric: count ? "always" : "auto" }).format(-count, unit); // "now" for 0
}

// In short: "4 h". The server counts in days at most.
const shortSpan = (seconds) => inUnit(...inLargest(seconds, SIZES.slice(3)));

function twoLargest(span) {
  const sizes = [["week", WEEK], ["day", DAY], ["hour", HOUR], ["minute", MINUTE]];
  const parts = [];
  for (const [unit, size] of sizes) {
    const count = Math.floor(span / size);
    span -= count * size;
    if (count && parts.length < 2) parts.push(counted(count, unit));
    else if (parts.length) break;
  }
  return parts.join(", ");
}

function refreshRelativeTimes() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const seconds = Math.trunc((serverNow() - Date.parse(time.dateTime)) / 1000);
    const ago = words(seconds);
    const lasting = () => isEnglish ? ago.replace(/ ago$/, "").replace(/^just now$/, "a moment") : shortSpan(seconds);
    const told = "lasting" in time.dataset ? lasting() : ago;
    if (Math.abs(seconds) < LONGEST_KEPT && time.textContent !== told) time.textContent = told;
  }
}

export function keepRelativeTimes() {
  setInterval(refreshRelativeTimes, A_MOMENT_MS);
  addEventListener("clock", refreshRelativeTimes);
}
