// Messages that the reader has in front of them are marked as read by the button on the page, which is pressed
// for them. Without scripts they press it themselves; opening the page alone marks nothing.
// The reader may have the button under their keys: the focus then stays with the messages.
function remove(form) {
  const region = form.closest("#live, main"), isFocused = form.contains(document.activeElement);
  form.remove();
  if (!isFocused || !region) return;
  region.tabIndex = -1;
  region.focus({ preventScroll: true });
}

const mark = () => {
  const form = document.querySelector("form[data-marks-read]");
  if (!form || form.dataset.sent || document.visibilityState !== "visible") return;
  form.dataset.sent = "yes";
  fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" }).then(() => remove(form), () => {});
};

document.addEventListener("visibilitychange", mark);
new MutationObserver(mark).observe(document.querySelector("#live") ?? document.body, { childList: true, subtree: true });
mark();
