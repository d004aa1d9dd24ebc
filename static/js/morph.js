// Making what is shown like what the server answered, changing only what differs: so that focus,
// scroll, open <details>, selections and what somebody is typing stay.

const keyOf = (node) => node.id || node.dataset?.key || null;
const alike = (one, other) =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

// Somebody's work in progress: it stays as it is, even where the server has no form any more.
function isEdited(form) {
  if ("busy" in form.dataset) return true;
  if (form.contains(document.activeElement) && document.activeElement.matches("input, select, textarea"))
    return true;
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

const holdsEdits = (node) =>
  node.nodeType === Node.ELEMENT_NODE &&
  (node.matches("form") ? isEdited(node) : [...node.querySelectorAll("form")].some(isEdited));

function morphAttributes(old, fresh) {
  const own = old.matches("details, dialog") ? ["open"] : []; // the reader's, not the server's
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
  if (old.matches("form") && isEdited(old)) return;
  morphAttributes(old, fresh);
  if (!old.matches("count-down")) morph(old, fresh); // which writes its text itself
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

// The same, keeping the focus: where its place is gone, at the region, not at the page's top.
export function morphKeepingFocus(region, html) {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const focused = region.contains(document.activeElement) ? document.activeElement : null;
  morph(region, fresh.content);
  if (!focused || document.activeElement === focused) return;
  if (!focused.isConnected) region.tabIndex = -1;
  (focused.isConnected ? focused : region).focus({ preventScroll: true });
}
