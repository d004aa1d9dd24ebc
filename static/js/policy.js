// While the time to confirm is filled in: says at once when it is too short to be fair.

const SECONDS = { seconds: 1, minutes: 60, hours: 3600, days: 86400 };

for (const hint of document.querySelectorAll("[data-short-window]")) {
  const form = hint.closest("form");
  const { window: number, window_unit: unit } = form.elements;
  const update = () => {
    const seconds = Number(number.value) * SECONDS[unit.value];
    hint.hidden = !(seconds > 0 && seconds < Number(hint.dataset.shortWindow));
  };
  number.addEventListener("input", update);
  unit.addEventListener("change", update);
  update();
}
