// Times: the server's clock, the reader's zone, and how long ago something was.

const MINUTE = 60, HOUR = 3600, DAY = 86400, WEEK = 7 * DAY;
const LONGEST_KEPT = 28 * DAY; // from here on only the calendar knows how many months it was
const YEAR_SECONDS = 365 * DAY;
const A_MOMENT_MS = 5_000; // times under a minute stand beside count-downs: they must not stand still

// Not Date.now(): someone may set that clock while the page is open.
const ownNow = () => performance.timeOrigin + performance.now();

// How far the server's clock is ahead, in ms. A moment that the server named was always on its way
// for a while, so whatever makes the server look further ahead is nearer to the truth.
let ahead = -Infinity;

export function noteServerTime(moment) {
  const told = Date.parse(moment);
  if (!Number.isNaN(told)) ahead = Math.max(ahead, told - ownNow());
}

export const serverNow = () => ownNow() + (Number.isFinite(ahead) ? ahead : 0);

// The zone of this browser, and the one in which the server wrote this page.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const written = document.querySelector("meta[name=time-zone]")?.content;
export const isForeignZone = Boolean(zone && written && zone !== written);
const placeOf = (name) => name.split("/").at(-1).replaceAll("_", " ");
const WITH_SECONDS = /\d\d:\d\d:\d\d/;

function inParts(moment) {
  const how = { timeZone: zone, hourCycle: "h23", weekday: "long", day: "numeric", month: "long",
    year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const parts = new Intl.DateTimeFormat("en-US", how).formatToParts(moment);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value]));
}

// Times that the server wrote in another zone, because it did not know this one yet, in this one.
export function showTimesHere() {
  if (!isForeignZone) return;
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (!time.title.endsWith(`(${placeOf(written)})`) || time.closest("[data-zone-fixed]")) continue;
    const at = inParts(new Date(time.dateTime)), place = `(${placeOf(zone)})`;
    const minutes = `${at.hour}:${at.minute}`, seconds = `${minutes}:${at.second}`;
    const since = "lasting" in time.dataset ? "since " : "";
    time.title = `${since}${at.weekday} ${at.day} ${at.month} ${at.year}, ${seconds} ${place}`;
    if ("relative" in time.dataset) continue;
    const year = at.year === inParts(new Date(serverNow())).year ? "" : ` ${at.year}`;
    const clock = WITH_SECONDS.test(time.textContent) ? seconds : minutes;
    time.textContent =
      `${at.weekday.slice(0, 3)} ${at.day} ${at.month.slice(0, 3)}${year}, ${clock} ${place}`;
  }
  const words = document.getElementById("zone-words");
  if (words) words.textContent = `your time zone, ${zone.replaceAll("_", " ")}`;
}

// Pages show times in the zone of this cookie from the next one on.
export function tellTimeZone() {
  if (!zone) return;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `time_zone=${zone}; path=/; max-age=${YEAR_SECONDS}; SameSite=Lax${secure}`;
}

const counted = (count, unit) => `${count} ${unit}${count === 1 ? "" : "s"}`;

// The words of Django's naturaltime, so that nothing changes but the number.
function words(seconds) {
  const future = seconds < 0, span = Math.abs(seconds), end = future ? "from now" : "ago";
  if (span < 1) return "just now";
  if (span < MINUTE) return span === 1 ? `a second ${end}` : `${span} seconds ${end}`;
  const minutes = Math.floor(span / MINUTE), hours = Math.floor(span / HOUR);
  if (span < HOUR) return minutes === 1 ? `a minute ${end}` : `${minutes} minutes ${end}`;
  if (span < DAY) return hours === 1 ? `an hour ${end}` : `${hours} hours ${end}`;
  return `${twoLargest(span)} ${end}`;
}

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
    const told = "lasting" in time.dataset ? ago.replace(/ ago$/, "").replace(/^just now$/, "a moment") : ago;
    if (Math.abs(seconds) < LONGEST_KEPT && time.textContent !== told) time.textContent = told;
  }
}

export function keepRelativeTimes() {
  setInterval(refreshRelativeTimes, A_MOMENT_MS);
}
