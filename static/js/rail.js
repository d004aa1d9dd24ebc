// The numbers of the rail follow the page: when its live region has changed, they are read again.
const PAUSE_MS = 3_000; // however often the region changes

const place = document.querySelector("[data-rail]");
let waits = false;

async function read() {
  waits = false;
  const answer = await fetch(place.dataset.rail, { redirect: "manual" }).catch(() => null);
  if (!answer?.ok) return; // the next page has them
  const here = place.querySelector("[aria-current]")?.getAttribute("href");
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text();
  for (const link of fresh.content.querySelectorAll("a")) {
    if (link.getAttribute("href") === here) link.setAttribute("aria-current", "true");
  }
  if (!place.contains(document.activeElement)) place.replaceChildren(fresh.content);
}

document.addEventListener("region-changed", () => {
  if (!place || waits) return;
  waits = true;
  setTimeout(read, PAUSE_MS);
});
