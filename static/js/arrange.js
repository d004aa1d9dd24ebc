// Questions are put in order by dragging. The buttons beside them do the same, one place at a time.
const list = document.querySelector("[data-arrange]");
const form = document.getElementById(list?.dataset.arrange);
let dragged = null;

function itemAt(y) {
  return [...list.children].find((item) => {
    const box = item.getBoundingClientRect();
    return item !== dragged && y < box.top + box.height / 2;
  });
}

function send() {
  const order = [...list.children].map((item) => item.dataset.key).join(" ");
  if (order === list.dataset.order) return;
  form.elements.order.value = order;
  form.requestSubmit();
}

if (list && form) {
  list.dataset.order = [...list.children].map((item) => item.dataset.key).join(" ");
  for (const item of list.children) item.draggable = true;
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.key);
    dragged.classList.add("dragged");
  });
  list.addEventListener("dragover", (event) => {
    if (!dragged) return;
    event.preventDefault();
    list.insertBefore(dragged, itemAt(event.clientY) ?? null);
  });
  list.addEventListener("drop", (event) => event.preventDefault());
  list.addEventListener("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
    send();
  });
}
