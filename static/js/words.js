// What scripts say, in the reader's language. The page brings the words; without any they are English.
// `pipeline/wording/scripts.py` lists every sentence that is said here.
const given = document.getElementById("words-of-scripts");
const words = given ? JSON.parse(given.textContent) : {};

export const language = document.documentElement.lang || "en";
export const isEnglish = language === "en";
// The name of the place of the zone in which the page was written.
export const writtenPlace = words["place of the zone"];
// Digits are Western everywhere, as on the server.
export const locale = `${language}-u-nu-latn`;

// A sentence, with its named places filled in.
export function t(english, named = {}) {
  return (words[english] ?? english).replace(/%\((\w+)\)s/g, (_place, name) => named[name] ?? "");
}

const UNITS = { d: "day", h: "hour", min: "minute", s: "second" };

// A number of days, hours, minutes or seconds in short, as the server words it: "4 h".
export function inUnit(count, symbol) {
  if (isEnglish) return `${count} ${symbol}`;
  const unit = UNITS[symbol] ?? symbol;
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short" }).format(count);
}
