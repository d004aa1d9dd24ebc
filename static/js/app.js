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

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of menus()) {
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
});
