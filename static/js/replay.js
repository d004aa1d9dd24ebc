// Replay without reloading: dragging, stepping and playing fetch the part that changes.
// Without this script the forms and links of the page do the same, a page at a time.
import { moveFrom, shownIn } from "./line_moves.js";
import { t } from "./words.js";

(() => {
  const form = document.getElementById("seek");
  if (!form) return;
  const slider = document.getElementById("seq");
  const region = document.getElementById("moment");
  const steps = document.getElementById("steps");
  const play = document.getElementById("play");
  const speed = document.getElementById("speed");
  const says = document.getElementById("replay-says");
  let wanted = Number(slider.value); // the event that was last asked for
  let shown = wanted; // the event that is on the page
  let asking = null; // the request that runs, if one does
  let timer = 0;
  let failures = 0;

  document.documentElement.classList.add("scripted");
  play.closest(".player").hidden = false;

  const addressOf = (seq, fragment) => {
    const address = new URL(location.pathname, location.href);
    address.searchParams.set("seq", seq);
    const other = form.querySelector("[name=with]");
    if (other) address.searchParams.set("with", other.value);
    if (fragment) address.searchParams.set("fragment", "1");
    return address;
  };

  const describe = () => {
    const moment = region.firstElementChild;
    slider.setAttribute("aria-valuetext", moment.dataset.says);
    if (!playing()) says.textContent = moment.dataset.says;
    document.getElementById("at").value = moment.dataset.at;
    document.getElementById("at-zone").value = moment.dataset.zone;
    document.getElementById("at-zone-shown").textContent = moment.dataset.zone;
    for (const field of document.querySelectorAll("[data-seq]")) {
      if (field.matches("input")) field.value = moment.dataset.seq;
    }
    const head = Number(moment.dataset.head);
    slider.max = head;
    step(shown, head);
  };

  // The four steps keep their places, so that the pointer and the focus can stay on one of them.
  const step = (seq, head) => {
    const targets = [1, seq - 1, seq + 1, head];
    [...steps.children].forEach((old, index) => {
      const possible = index < 2 ? seq > 1 : seq < head;
      const fresh = document.createElement(possible ? "a" : "span");
      fresh.className = old.className;
      fresh.append(...old.childNodes);
      if (possible) {
        fresh.href = addressOf(targets[index]);
        fresh.dataset.go = targets[index];
      } else {
        fresh.setAttribute("aria-disabled", "true");
      }
      const focused = old === document.activeElement;
      old.replaceWith(fresh);
      if (focused) (possible ? fresh : slider).focus();
    });
  };

  // One request at a time; while it runs only the newest wish is kept, so nothing stale is shown.
  const show = async (seq) => {
    wanted = Math.min(Math.max(1, seq), Number(slider.max));
    if (Number(slider.value) !== wanted) slider.value = wanted;
    if (asking) return asking;
    asking = fetchWanted();
    await asking.finally(() => { asking = null; });
    if (wanted !== shown && failures === 0) await show(wanted);
  };

  const fetchWanted = async () => {
    const seq = wanted;
    const slow = setTimeout(() => { region.dataset.busy = ""; }, 250);
    try {
      const answer = await fetch(addressOf(seq, true), { headers: { "X-Requested-With": "fetch" } });
      if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
      const html = await answer.text();
      failures = 0;
      const before = shownIn(region.querySelector(".line-picture"));
      const follows = seq === shown + 1;
      shown = seq;
      region.innerHTML = html;
      if (follows && region.firstElementChild.dataset.event === "PROMOTED")
        moveFrom(before, region.querySelector(".line-picture"));
      if (!playing()) remember(); // browsers refuse to be told many times a second
      describe();
    } catch {
      failures += 1;
      stop();
      says.textContent = t("That moment could not be fetched. Try again.");
    } finally {
      clearTimeout(slow);
      delete region.dataset.busy;
    }
  };

  const playing = () => play.getAttribute("aria-pressed") === "true";

  const remember = () => history.replaceState(null, "", addressOf(shown));

  const stop = () => {
    clearTimeout(timer);
    if (playing()) remember();
    play.setAttribute("aria-pressed", "false");
    play.querySelector("span").textContent = t("Play");
  };

  const tick = async () => {
    const started = performance.now();
    failures = 0;
    await show(shown + 1);
    if (!playing()) return;
    if (shown >= Number(slider.max)) {
      stop();
      says.textContent = region.firstElementChild.dataset.says;
      return;
    }
    timer = setTimeout(tick, Math.max(0, 1000 / Number(speed.value) - (performance.now() - started)));
  };

  play.addEventListener("click", async () => {
    if (playing()) return stop();
    play.setAttribute("aria-pressed", "true");
    play.querySelector("span").textContent = t("Pause");
    if (shown >= Number(slider.max)) await show(1);
    tick();
  });

  slider.addEventListener("input", () => {
    stop();
    failures = 0;
    show(Number(slider.value));
  });

  steps.addEventListener("click", (event) => {
    const link = event.target.closest("[data-go]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    stop();
    failures = 0;
    show(Number(link.dataset.go));
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    stop();
    failures = 0;
    show(Number(slider.value));
  });

  slider.setAttribute("aria-valuetext", region.firstElementChild.dataset.says);
})();
