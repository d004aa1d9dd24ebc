// Whoever types @ in a note sees the colleagues whom they can tell; a name that is typed in full, or up to its
// own @, is ticked. The ticks alone count, and without scripts they are set by hand.
const ENDS = /[.,;:!?]+$/;

document.addEventListener("input", ({ target }) => {
  const list = target.name === "note" && target.form?.querySelector("[data-mentions]");
  if (!list || !target.value.includes("@")) return;
  list.open = true;
  const typed = [...target.value.toLowerCase().matchAll(/(?:^|\s)@(\S+)/g)].map(([, word]) => word.replace(ENDS, ""));
  const people = [...list.querySelectorAll("label")].map((label) => [label.textContent.trim().slice(1), label]);
  for (const word of typed) {
    const meant = people.filter(([name]) => name === word || name.startsWith(`${word}@`));
    if (meant.length === 1) meant[0][1].querySelector("input").checked = true;
  }
});
