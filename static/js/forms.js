// A form that changes something is sent once, however often its button is pressed.

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
