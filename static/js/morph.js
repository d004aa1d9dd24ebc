// Making what is shown like what the server answered, changing only what differs: so that focus,
// scroll, open <details>, selections and what someone is typing stay.

const keyOf = (node) => node.id || node.dataset?.key || null;
const alike = (one, other) =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

// Whether something in a form is not as the server sent it.
export function isFilled(form) {
  return [...form.elements].some((control) => {
    if (control.type === "hidden") return false;
    if (control.type === "checkbox" || control.type === "radio")
      return control.checked !== control.defaultChecked;
    if (control.options) {
      const chosen = [...control.options].some((option) => option.defaultSelected);
      return [...control.options].some((option, place) =>
        option.selected !== (chosen || control.multiple ? option.defaultSelected : place === 0));
    }
    return "defaultValue" in control && control.value !== control.defaultValue;
  });
}

// Someone's work in progress: it stays as it is, even where the server has no form any more.
function isEdited(form) {
  if ("busy" in form.dataset || form.querySelector("[data-uploaded]")) return true;
  if (form.contains(document.activeElement) && document.activeElement.matches("input, select, textarea"))
    return true;
  return isFilled(form);
}

const holdsEdits = (node) =>
  node.nodeType === Node.ELEMENT_NODE &&
  (node.matches("form") ? isEdited(node) : [...node.querySelectorAll("form")].some(isEdited));

function morphAttributes(old, fresh) {
  // What is the reader's, or the browser's, not the server's.
  const own = old.matches("details, dialog") ? ["open"] : old.matches(".needs-js") ? ["hidden"] : [];
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && !own.includes(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value && !own.includes(name)) old.setAttribute(name, value);
}

function morphNode(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if ("said" in old.dataset) return; // it answers what someone did: until they do the next thing
  if (old.matches("form") && isEdited(old)) return;
  morphAttributes(old, fresh);
  if (!old.matches("count-down, [data-pdf]")) morph(old, fresh); // these fill themselves
}

// Which of the old children each fresh one is: by its key, else the next of its kind.
function pairsOf(old, fresh) {
  const left = new Set(old.childNodes), pairs = new Map();
  for (const child of fresh.childNodes) {
    for (const candidate of left) {
      if (!alike(candidate, child)) continue;
      pairs.set(child, candidate);
      left.delete(candidate);
      break;
    }
  }
  return { pairs, left };
}

function place(parent, node, before) {
  const keepsState = parent.moveBefore && node.isConnected;
  if (keepsState) parent.moveBefore(node, before);
  else parent.insertBefore(node, before);
}

export function morph(old, fresh) {
  const { pairs, left } = pairsOf(old, fresh);
  for (const node of left) if (!holdsEdits(node)) node.remove();
  let next = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    while (next && left.has(next)) next = next.nextSibling;
    const known = pairs.get(child);
    if (!known) {
      old.insertBefore(document.importNode(child, true), next);
      continue;
    }
    if (known === next) next = next.nextSibling;
    else place(old, known, next);
    morphNode(known, child);
  }
}

// The same control of the same row, which may now stand in another list.
function sameControl(region, row, focused) {
  if (!row) return null;
  const rows = region.querySelectorAll(`[data-key="${CSS.escape(row)}"]`);
  const address = focused.getAttribute("href");
  for (const each of rows)
    for (const link of each.querySelectorAll("a[href]"))
      if (address && link.getAttribute("href") === address) return link;
  return null;
}

// The same, keeping the focus: where its place is gone, on the same link of the same row in another
// list, else at the region, not at the page's top.
export function morphKeepingFocus(region, fresh) {
  const focused = region.contains(document.activeElement) ? document.activeElement : null;
  const row = focused?.closest("[data-key]")?.dataset.key;
  morph(region, fresh);
  if (!focused || document.activeElement === focused) return;
  const next = focused.isConnected ? focused : sameControl(region, row, focused);
  if (!next) region.tabIndex = -1;
  (next ?? region).focus({ preventScroll: true });
}

// A row that moves away under the pointer leaves another one there. A press that was meant for the
// first must not reach the second, so for a moment none does, unless the pointer moves on purpose.
const SHIELD_MS = 600, ON_PURPOSE_PX = 12;
let pointer = { x: -1, y: -1 }, shifted = null;

export const rowUnderPointer = (region) => {
  const row = document.elementFromPoint(pointer.x, pointer.y)?.closest("[data-key]");
  return row && region.contains(row) ? row.dataset.key : null;
};

// To be called with the row that was there before.
export function shieldFrom(region, before) {
  if (before !== rowUnderPointer(region)) shifted = { at: performance.now(), ...pointer };
}

addEventListener("pointermove", ({ clientX: x, clientY: y }) => {
  pointer = { x, y };
  if (shifted && Math.hypot(x - shifted.x, y - shifted.y) > ON_PURPOSE_PX) shifted = null;
}, { passive: true });

addEventListener("click", (event) => {
  if (!shifted || !event.detail || !event.target.closest("[data-key]")) return; // 0: by keyboard
  if (performance.now() - shifted.at > SHIELD_MS) return void (shifted = null);
  event.preventDefault();
  event.stopPropagation();
}, { capture: true });
