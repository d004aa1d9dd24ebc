// A form that changes something is sent once, however often its button is pressed.
import { attempt } from "./attempt.js";
import { t } from "./words.js";

const ANSWERED_MS = 10_000; // by then it was answered, or it was a download

function release(form) {
  delete form.dataset.busy;
  for (const button of form.querySelectorAll("[data-held]")) {
    button.removeAttribute("aria-disabled");
    delete button.dataset.held;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post" || event.defaultPrevented) return;
  if ("busy" in form.dataset) return event.preventDefault();
  form.dataset.busy = "";
  // Not `disabled`: that would lose the button's own value, and the focus.
  for (const button of form.querySelectorAll("button:not([type=button]), input[type=submit]")) {
    button.setAttribute("aria-disabled", "true");
    button.dataset.held = "";
  }
  setTimeout(release, ANSWERED_MS, form);
});

addEventListener("pageshow", () => document.querySelectorAll("form[data-busy]").forEach(release));

// A form has an id, so that a second press is not a second order. Who comes back to the page wants one.
const isBack = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted && !isBack) return;
  for (const field of document.querySelectorAll("[name=submission_id]"))
    field.value = [...crypto.getRandomValues(new Uint8Array(9))].map((each) => each.toString(36)).join("");
});

// The page behind a printed link has one button, which is pressed at once; without scripts by hand.
attempt(() => document.querySelector("form[data-send-at-once]")?.requestSubmit());

// A form that the site was too full to take is sent again after a while.
const waiting = document.querySelector("form[data-send-after]");
if (waiting) setTimeout(() => waiting.requestSubmit(), waiting.dataset.sendAfter * 1000);

// Passwords can be read while they are typed; they are hidden again before they are sent.
function addShowBox(form) {
  const inputs = [...form.querySelectorAll("input[type=password]")];
  const label = document.createElement("label");
  const box = document.createElement("input");
  const text = document.createElement("span");
  label.className = "choice";
  box.type = "checkbox";
  box.autocomplete = "off";
  text.textContent = t("Show what I type");
  label.append(box, text);
  inputs.at(-1).after(label);
  const show = () => inputs.forEach((input) => { input.type = box.checked ? "text" : "password"; });
  const hide = () => { box.checked = false; show(); };
  box.addEventListener("change", show);
  form.addEventListener("submit", hide);
  addEventListener("pageshow", hide);
}

for (const form of document.querySelectorAll("form:has(input[type=password])")) attempt(addShowBox, form);
