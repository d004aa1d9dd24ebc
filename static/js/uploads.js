// Files are uploaded as soon as they are chosen, with their progress; without this they come with
// the form. The form then holds only ids, so a refused form or a lost connection loses no file.
import { locale } from "./words.js";

function size(bytes) {
  const isSmall = bytes < 1e6, amount = isSmall ? Math.ceil(bytes / 1e3) : bytes / 1e6;
  const digits = isSmall ? 0 : 1;
  const how = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
  return `${new Intl.NumberFormat(locale, how).format(amount)} ${isSmall ? "KB" : "MB"}`;
}

function send(url, file, question, token, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest(); // fetch tells no progress of what it sends
    const body = new FormData();
    body.append("question_id", question);
    body.append("file", file);
    request.open("POST", url);
    request.setRequestHeader("X-CSRFToken", token);
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded / total));
    request.addEventListener("load", () => resolve([request.status === 201, request.response]));
    for (const name of ["error", "timeout"]) request.addEventListener(name, () => resolve([false, null]));
    request.send(body);
  });
}

function addRow(box, name, bytes) {
  const row = document.createElement("li");
  const label = document.createElement("bdi");
  const facts = document.createElement("span");
  label.textContent = name;
  facts.className = "muted";
  facts.textContent = size(bytes);
  row.dataset.uploaded = ""; // so that news of the page leave the form alone
  row.append(label, " ", facts);
  box.querySelector("ul").append(row);
  return row;
}

function addRemoveButton(box, row, id, name) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn small";
  button.textContent = box.dataset.remove;
  button.setAttribute("aria-label", `${box.dataset.remove}: ${name}`);
  button.addEventListener("click", () => {
    const token = box.closest("form").querySelector("[name=csrfmiddlewaretoken]").value;
    fetch(`${box.dataset.uploads}${id}/remove/`, { method: "POST", headers: { "X-CSRFToken": token } })
      .catch(() => {}); // it expires by itself
    row.remove();
    box.querySelector("[type=file]").focus();
  });
  row.append(" ", button);
}

// The page came with rows of files that are uploaded already, each with a box to untick.
for (const box of document.querySelectorAll("[data-uploads]")) {
  box.dataset.lists = ""; // what is chosen stands in the list, never beside the button
  for (const row of box.querySelectorAll("li")) {
    const kept = row.querySelector("[type=checkbox]");
    kept.type = "hidden";
    row.dataset.uploaded = "";
    addRemoveButton(box, row, kept.value, row.dataset.name);
  }
}

async function upload(box, file) {
  const form = box.closest("form"), state = box.querySelector("[data-upload-state]");
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const row = addRow(box, file.name, file.size), bar = document.createElement("progress");
  bar.setAttribute("aria-label", file.name);
  row.append(" ", bar);
  const [isDone, answer] = await send(box.dataset.uploads, file, box.dataset.question, token, (part) => {
    bar.value = part;
  });
  bar.remove();
  if (!isDone) {
    row.remove();
    state.textContent = `${file.name}: ${answer?.detail ?? box.dataset.failed}`;
    state.classList.add("error");
    state.dataset.said = ""; // so that news of the page leave it alone
    return;
  }
  if (box.dataset.most === "1") for (const other of box.querySelectorAll("li")) if (other !== row) other.remove();
  const id = document.createElement("input");
  Object.assign(id, { type: "hidden", name: `${box.dataset.name}_id`, value: answer.id });
  row.prepend(id);
  addRemoveButton(box, row, answer.id, answer.name);
  state.textContent = "";
  delete state.dataset.said;
  dropError(box);
}

// The file answers what the page, refused before, asked for: there, and in the list at its top.
function dropError(box) {
  const field = box.closest(".has-error"), input = box.querySelector("[type=file]");
  field?.querySelector(":scope > .error")?.remove();
  field?.classList.remove("has-error");
  input.removeAttribute("aria-invalid");
  const entry = document.querySelector(`#errors a[href="#${CSS.escape(input.id)}"]`)?.closest("li");
  const summary = entry?.closest("#errors");
  entry?.remove();
  if (summary && !summary.querySelector("li")) summary.remove();
}

// One file after the other, on a slow line; also if more are chosen meanwhile: of a question for one
// file, the newest stays. Until all are uploaded, the form waits.
let before = Promise.resolve();
const waiting = new WeakMap(); // how many files a form waits for

document.addEventListener("change", ({ target }) => {
  const box = target.closest?.("[data-uploads]");
  if (!box || target.type !== "file") return;
  const files = [...target.files], form = box.closest("form");
  const wait = (more) => {
    waiting.set(form, (waiting.get(form) ?? 0) + more);
    for (const button of form.querySelectorAll("button:not([type=button])")) button.disabled = waiting.get(form) > 0;
  };
  target.value = "";
  wait(files.length);
  for (const file of files) {
    const run = () => upload(box, file).finally(() => wait(-1));
    before = before.then(run, run);
  }
});
