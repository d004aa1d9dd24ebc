// The line on the page moves as the people do: who takes a seat goes there, and the others move up.
//
// What stands for a person has their key before and after, so a view transition can move it. Browsers
// without them, and readers who want less motion, see the change at once.
import { morphKeepingFocus, rowUnderPointer, shieldFrom } from "./morph.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const MOST_MOVED = 40; // further down the line nobody sees it

const keysOf = (root, rows) => [...root.querySelectorAll(rows)].map((each) => each.dataset.key);

// Whether somebody who waits on the page has a seat on the fresh one.
function takesSeat(region, fresh) {
  const waiting = new Set(keysOf(region, ".waiting[data-key]"));
  return keysOf(fresh, ".slot[data-key]").some((key) => waiting.has(key));
}

const isSeen = (node) => {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
};

// Name the faces on the screen for the browser. Returns what takes the names away again.
function nameFaces(region) {
  const rows = [...region.querySelectorAll(".slot[data-key], .waiting[data-key]")];
  const faces = rows.filter(isSeen).slice(0, MOST_MOVED).map((row) => [row, row.querySelector(".avatar")]);
  for (const [row, face] of faces) if (face) face.style.viewTransitionName = `person-${row.dataset.key}`;
  return () => faces.forEach(([, face]) => face?.style.removeProperty("view-transition-name"));
}

export async function showMoving(region, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const fresh = template.content, under = rowUnderPointer(region);
  if (!document.startViewTransition || STILL.matches || document.hidden || !takesSeat(region, fresh)) {
    morphKeepingFocus(region, fresh);
    return shieldFrom(region, under);
  }
  let forget = nameFaces(region);
  const moving = document.startViewTransition(() => {
    forget();
    morphKeepingFocus(region, fresh);
    forget = nameFaces(region);
  });
  moving.finished.catch(() => {}).then(() => forget());
  const drawn = moving.ready.catch(() => {}); // while it is drawn, nothing is under the pointer
  await moving.updateCallbackDone;
  await drawn;
  shieldFrom(region, under);
}
