// What makes the pages more comfortable where there is JavaScript; nothing depends on it.
import { attempt } from "./attempt.js";
import "./countdown.js";
import "./forms.js";
import "./live.js";
import { keepRelativeTimes, showTimesHere, tellTimeZone } from "./times.js";

for (const act of [tellTimeZone, showTimesHere, keepRelativeTimes]) attempt(act);

document.querySelector("[data-focus]")?.focus();
if (document.querySelector("[data-uploads]")) import("./uploads.js");

const menus = () => document.querySelectorAll("details.menu[open]");

document.addEventListener("click", (event) => {
  for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
});

// Arrows move in an open menu, as Tab does. Escape closes it.
document.addEventListener("keydown", (event) => {
  const menu = document.activeElement?.closest("details.menu[open]");
  if (event.key === "Escape") {
    menu?.querySelector("summary").focus();
    for (const each of menus()) each.open = false;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!menu || !step) return;
  const items = [...menu.querySelectorAll(".menu-item:not([hidden])")];
  const at = items.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : items.length - 1) : (at + step + items.length) % items.length;
  items[next]?.focus();
  event.preventDefault();
});

