// The slider of a job's board: shows the line after the chosen event without leaving the page.
// Without this script its form opens that moment in replay.
import { moveFrom, shownIn } from "./line_moves.js";

const form = document.getElementById("rewind");
const slider = document.getElementById("rewind-seq");
const shown = document.getElementById("rewound");
const says = document.getElementById("rewind-says");
let wanted = 0; // the event that was last asked for
let asking = false;

async function show() {
  if (asking) return;
  asking = true;
  let seq;
  do {
    seq = wanted; // while a request runs only the newest wish is kept
    const address = new URL(form.action, location.href);
    address.search = new URLSearchParams({ seq, fragment: "picture" });
    try {
      const answer = await fetch(address, { redirect: "manual" });
      if (!answer.ok) throw new Error(String(answer.status));
      const before = shownIn(shown.querySelector(".line-picture"));
      const last = Number(shown.firstElementChild?.dataset.seq);
      shown.innerHTML = await answer.text();
      const moment = shown.firstElementChild;
      if (moment.dataset.event === "PROMOTED" && Number(moment.dataset.seq) === last + 1)
        moveFrom(before, shown.querySelector(".line-picture"));
      slider.max = moment.dataset.head;
      slider.setAttribute("aria-valuetext", moment.dataset.says);
      says.textContent = "";
    } catch {
      says.textContent = "That moment could not be fetched. Try again.";
    }
  } while (seq !== wanted);
  asking = false;
}

slider?.addEventListener("input", () => {
  wanted = Number(slider.value);
  show();
});
