// The browser's tab: its title says what the page says. While the reader has a deadline of their
// own, title and icon also show the time left, so that another tab in front does not hide it.
import { inUnit, t } from "./words.js";

const icon = document.querySelector("link[rel=icon]"), usual = icon?.getAttribute("href");
const UNITS = [["d", 86400, "d"], ["h", 3600, "h"], ["m", 60, "min"]];

let title = document.title, left = "";

const show = () => {
  const words = left ? `${t("%(duration)s left", { duration: left })} · ${title}` : title;
  if (document.title !== words) document.title = words;
};

export function setTitle(words) {
  title = words;
  show();
}

// In whole units, rounded down: "14 min", at the icon "14m". Without seconds: no time at all.
export function showTimeLeft(seconds) {
  const unit = UNITS.find(([, size]) => seconds >= size);
  const count = unit && Math.floor(seconds / unit[1]);
  left = seconds > 0 ? (unit ? inUnit(count, unit[2]) : t("Less than 1 min")) : "";
  show();
  if (!icon?.dataset.left) return;
  const mark = unit ? `${Math.min(count, 99)}${unit[0]}` : "0m";
  const href = left ? icon.dataset.left.replace("0m", mark) : usual;
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}
