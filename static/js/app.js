// What makes the pages more comfortable where there is JavaScript; nothing depends on it.
import { attempt } from "./attempt.js";
import "./countdown.js";
import "./forms.js";
import "./live.js";
import { keepRelativeTimes, showTimesHere, tellTimeZone } from "./times.js";

for (const act of [tellTimeZone, showTimesHere, keepRelativeTimes]) attempt(act);

// To the errors of a form or to what it did, unless the address leads elsewhere.
(document.querySelector("[data-focus]") ?? (location.hash ? null : document.querySelector(".messages")))?.focus();

// Without #main in the address: the answer to the next form would go there.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.querySelector("main").focus();
});

// What was typed stays when the page is shown in another language.
const toLanguages = document.querySelector("a.language");
toLanguages?.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  import("./typed.js").then(({ keep }) => keep()).finally(() => location.assign(toLanguages.href));
});
if ("typed" in sessionStorage) import("./typed.js").then(({ giveBack }) => giveBack());

if (document.querySelector("[data-uploads]")) import("./uploads.js");

const menus = () => document.querySelectorAll("details.menu[open]");

document.addEventListener("click", (event) => {
  for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
});

// A menu that opens below the edge of the window comes into it.
document.addEventListener("toggle", ({ target }) => {
  if (target.matches("details.menu[open]")) target.querySelector(".menu-items")?.scrollIntoView({ block: "nearest" });
}, true);

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

