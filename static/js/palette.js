// Keys for members: a dialog that finds pages, jobs and people (Ctrl K), and single keys. What they
// lead to are links that stand on pages, too; the page of shortcuts lists them.
import { isFilled } from "./morph.js";
import { t } from "./words.js";

const KEYS_OFF = "keys-off", PAUSE_MS = 150, SECOND_KEY_MS = 1_500;
const opener = document.querySelector("[data-go-url]");
const { goUrl: GO, createUrl: CREATE, keys = "{}" } = opener?.dataset ?? {};
const PLACES = JSON.parse(keys); // the address to which each key goes after "g"

const typing = (node) => node.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
const singleKeys = () => { try { return localStorage.getItem(KEYS_OFF) !== "1"; } catch { return true; } };

// --- the dialog

let dialog, field, list, timer, back, asked = 0;

function make() {
  dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", t("Find a page, a job or a person"));
  field = document.createElement("input");
  field.type = "search";
  field.maxLength = 100;
  field.placeholder = t("A page, a job or a person");
  field.setAttribute("aria-label", t("Name of a page, a job or a person"));
  list = document.createElement("div");
  list.setAttribute("role", "status");
  list.innerHTML = `<div class="skeleton" aria-hidden="true">${"<i></i>".repeat(7)}</div>`;
  dialog.append(field, list);
  document.body.append(dialog);
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, PAUSE_MS);
  });
  dialog.addEventListener("keydown", move);
  dialog.addEventListener("close", () => back.isConnected && back.focus());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

async function find() {
  const turn = (asked += 1);
  const url = `${GO}?fragment=1&q=${encodeURIComponent(field.value)}`;
  const answer = await fetch(url, { redirect: "manual" }).catch(() => null);
  const html = answer?.ok ? await answer.text().catch(() => null) : null;
  if (turn !== asked) return;
  if (answer?.type === "opaqueredirect") return void (list.textContent = t("You are signed out. Reload the page to sign in."));
  if (html === null) return void (list.textContent = t("The server does not answer. Try again."));
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  list.replaceChildren(fresh.content);
}

function move(event) {
  if (event.key === "Escape") return dialog.close(); // a search field would only clear itself
  const links = [...list.querySelectorAll("a")];
  if (event.key === "Enter" && event.target === field && links.length) return links[0].click();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !links.length) return;
  event.preventDefault();
  const next = links.indexOf(document.activeElement) + step;
  (links[next] ?? (next < 0 ? field : links.at(-1))).focus();
}

function open() {
  if (!dialog) make();
  if (dialog.open) return dialog.close();
  field.value = "";
  back = document.activeElement === document.body ? opener : document.activeElement;
  dialog.showModal();
  find();
}

opener?.addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a tab of its own
  event.preventDefault();
  document.getElementById("rail-menu")?.hidePopover?.();
  open();
});

// --- single keys

let first = "", firstAt = 0;

// The next or previous person: of the page of an application, else of the list that is shown. A page
// with a typed note or a chosen score stays: it would be lost.
function step(forward) {
  const link = document.querySelector(`[data-go="${forward ? "next" : "previous"}"]`);
  if (link) return [...document.querySelectorAll("main form")].some(isFilled) || link.click();
  const links = [...document.querySelectorAll("main [data-key] .who-link")];
  const row = document.activeElement?.closest("[data-key]");
  const here = links.findIndex((each) => row?.contains(each));
  links[here < 0 ? 0 : here + (forward ? 1 : -1)]?.focus();
}

// The part of a page that names the key. Its first field only gets the focus: no key decides.
function reach(key) {
  const part = document.querySelector(`main [aria-keyshortcuts="${CSS.escape(key)}"]`);
  const folded = part?.closest("details");
  if (folded) folded.open = true;
  (part?.querySelector("input:not([type=hidden]), textarea") ?? part)?.focus();
  return Boolean(part);
}

// The last decision is undone, unless that would lose what is typed on the page: then its button
// only gets the focus.
function undo() {
  if ([...document.querySelectorAll("main form")].some(isFilled)) return reach("u");
  const button = document.querySelector('main [aria-keyshortcuts="u"]');
  button?.click();
  return Boolean(button);
}

function press(key) {
  const after = performance.now() - firstAt < SECOND_KEY_MS ? first : "";
  first = "";
  if (after === "g" && PLACES[key]) location.href = PLACES[key];
  else if (key === "g") [first, firstAt] = ["g", performance.now()];
  else if (key === "c" && CREATE) location.href = CREATE;
  else if (key === "?") location.href = "/company/shortcuts/";
  else if (key === "/") document.querySelector("main input[type=search]")?.focus();
  else if (key === "j" || key === "k") step(key === "j");
  else if (key === "x") document.activeElement?.closest("[data-key]")?.querySelector(".tick")?.click();
  else if (key === "u") return undo();
  else return reach(key);
  return true;
}

addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey) && !event.altKey) {
    event.preventDefault();
    return open();
  }
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target) || dialog?.open || !singleKeys()) return;
  if (press(event.key)) event.preventDefault();
});

// --- pages name their keys only while these do something, and the page of shortcuts

const nameKeys = () => document.documentElement.classList.toggle("keys", singleKeys());
nameKeys();

const button = document.querySelector("[data-keys-switch]");
if (button) {
  const show = () => (button.textContent = singleKeys() ? t("Turn single keys off") : t("Turn single keys on"));
  for (const part of document.querySelectorAll(".needs-js")) part.hidden = false;
  button.addEventListener("click", () => {
    if (singleKeys()) localStorage.setItem(KEYS_OFF, "1");
    else localStorage.removeItem(KEYS_OFF);
    nameKeys();
    show();
  });
  show();
}
