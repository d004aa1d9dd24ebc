// Pages of a PDF as pictures. Only drawing: no links, forms or scripts of the file, and no fonts or
// codecs from elsewhere. The policy of the page forbids `eval` and WebAssembly.
import { GlobalWorkerOptions, getDocument } from "../vendor/pdfjs/pdf.min.mjs";

const MOST_PAGES = 50, MOST_PIXELS = 4e6;

async function drawPage(page, name) {
  const canvas = document.createElement("canvas"), plain = page.getViewport({ scale: 1 });
  const wanted = Math.min(1.5 * devicePixelRatio, 3);
  const scale = Math.min(wanted, Math.sqrt(MOST_PIXELS / (plain.width * plain.height)));
  const viewport = page.getViewport({ scale });
  canvas.width = viewport.width;
  canvas.height = viewport.height;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", name);
  await page.render({ canvas, viewport, annotationMode: 0 }).promise;
  return canvas;
}

async function show(box) {
  const expected = document.createElement("div"); // as tall as the first page, so that nothing jumps
  expected.className = "skeleton-page";
  box.replaceChildren(expected);
  GlobalWorkerOptions.workerSrc = box.dataset.worker;
  const document_ = await getDocument({
    url: box.dataset.pdf, enableXfa: false, useWasm: false, stopAtErrors: false, disableRange: true, disableStream: true,
  }).promise;
  const count = Math.min(document_.numPages, MOST_PAGES);
  for (let number = 1; number <= count; number += 1) {
    const page = await document_.getPage(number);
    const name = box.dataset.page.replace("{number}", number).replace("{total}", document_.numPages);
    box.append(await drawPage(page, name));
    expected.remove();
    page.cleanup();
  }
  if (count < document_.numPages) {
    const note = document.createElement("p");
    note.textContent = box.dataset.more;
    box.append(note);
  }
}

// Each once: a file that has come in the meantime is shown, too.
const shown = new WeakSet();

function showNew() {
  for (const box of document.querySelectorAll("[data-pdf]")) {
    if (shown.has(box)) continue;
    shown.add(box);
    show(box).catch(() => {
      const note = document.createElement("p");
      note.textContent = box.dataset.failed;
      box.replaceChildren(note);
    });
  }
}

showNew();
const region = document.querySelector("[data-live]");
if (region) new MutationObserver(showNew).observe(region, { childList: true, subtree: true });
