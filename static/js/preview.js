// The preview beside a form follows what is typed: the form is sent as its button "preview" sends
// it, and of the answer only the preview and what the groups of fields say is shown. Nothing is stored.
const PAUSE_MS = 500;
const shown = document.querySelector("[data-preview]");
const form = shown?.closest("form") ?? document.getElementById(shown?.dataset.preview);
let timer, asked = 0;

async function refresh() {
  const turn = (asked += 1), values = new FormData(form);
  values.set("preview", "quiet"); // not an error while a field is only half filled in
  const answer = await fetch(form.getAttribute("action") || location.href, {
    method: "POST", body: values, redirect: "error",
  }).catch(() => null);
  const html = await answer?.text().catch(() => null);
  if (!html || turn !== asked) return;
  const page = new DOMParser().parseFromString(html, "text/html");
  const fresh = page.getElementById(shown.id);
  if (!fresh) return;
  for (const part of document.querySelectorAll("[data-follows]")) {
    part.textContent = page.getElementById(part.id)?.textContent ?? part.textContent;
  }
  const head = shown.querySelector("summary"); // it may have the focus
  head.replaceChildren(...fresh.querySelector("summary").childNodes);
  for (const each of [...shown.children].slice(1)) each.remove();
  shown.append(...[...fresh.children].slice(1));
}

form?.addEventListener("input", (event) => {
  if (shown.contains(event.target)) return;
  clearTimeout(timer);
  timer = setTimeout(refresh, PAUSE_MS);
});
