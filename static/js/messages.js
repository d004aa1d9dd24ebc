// Messages that the reader has in front of them are marked as read by the button on the page, which is pressed
// for them. Without scripts they press it themselves; opening the page alone marks nothing.
const mark = () => {
  const form = document.querySelector("form[data-marks-read]");
  if (!form || form.dataset.sent || document.visibilityState !== "visible") return;
  form.dataset.sent = "yes";
  fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" }).then(() => form.remove(), () => {});
};

document.addEventListener("visibilitychange", mark);
new MutationObserver(mark).observe(document.querySelector("#live") ?? document.body, { childList: true, subtree: true });
mark();
