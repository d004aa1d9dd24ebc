// What makes the pages more comfortable where there is JavaScript; nothing depends on it.
import { attempt } from "./attempt.js";
import "./countdown.js";
import "./forms.js";
import "./live.js";
import { keepRelativeTimes, showTimesHere, tellTimeZone } from "./times.js";

for (const act of [tellTimeZone, showTimesHere, keepRelativeTimes]) attempt(act);

const told = document.querySelector("[data-focus]");
// The address still names the place of the skip link, and the browser would go there afterwards.
if (told && location.hash === "#main") history.replaceState(null, "", location.pathname + location.search);
told?.focus();
if (document.querySelector("[data-uploads]")) import("./uploads.js");

const menus = () => document.querySelectorAll("details.menu[open]");

document.addEventListener("click", (event) => {
  for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
});

// Arrows move in an open menu, as people expect of one; Tab does, too.
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const menu = step && document.activeElement?.closest("details.menu[open]");
  if (!menu) return;
  const items = [...menu.querySelectorAll(".menu-item:not([hidden])")];
  const at = items.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : items.length - 1) : (at + step + items.length) % items.length;
  items[next]?.focus();
  event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of menus()) {
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
});
