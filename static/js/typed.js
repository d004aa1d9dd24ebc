// What was typed on a page, while its language is chosen on another: in this tab alone, and once.
import { isFilled } from "./morph.js";

const NAME = "typed", LEFT_OUT = "[type=hidden], [type=password], [type=file], [autocomplete=one-time-code]";

const here = () => location.pathname;
const forms = () => [...document.querySelectorAll("form[method=post]")];
const controls = (form) =>
  [...form.elements].filter((each) => each.matches("input, select, textarea") && !each.matches(LEFT_OUT));
const isBox = (control) => ["checkbox", "radio"].includes(control.type);
const chosen = (control) => [...control.selectedOptions].map((option) => option.value);

function read(control) {
  if (isBox(control)) return control.checked;
  return control.options ? chosen(control) : control.value;
}

function write(control, value) {
  if (isBox(control)) control.checked = value;
  else if (control.options) for (const option of control.options) option.selected = value.includes(option.value);
  else control.value = value;
  control.dispatchEvent(new Event("input", { bubbles: true }));
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

export function keep() {
  const filled = forms().map((form) => (isFilled(form) ? controls(form).map(read) : null));
  if (filled.some(Boolean)) sessionStorage.setItem(NAME, JSON.stringify({ path: here(), filled }));
}

export function giveBack() {
  const { path, filled } = JSON.parse(sessionStorage.getItem(NAME));
  if (document.querySelector("button[name=language]")) return; // the page on which one is chosen
  sessionStorage.removeItem(NAME);
  if (path !== here()) return;
  for (const [place, form] of forms().entries()) {
    const found = controls(form);
    // Another form than the one that was filled in: a different number of fields.
    if (filled[place]?.length === found.length) found.forEach((each, at) => write(each, filled[place][at]));
  }
}
