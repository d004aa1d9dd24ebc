// What the library's page lacks for people who do not see it, or have no mouse: names of lists and
// fields, levels of headings, examples that keys can scroll, and no links inside buttons. Its dark
// mode is a class that follows the reader's choice.
const sheet = document.getElementById("swagger-ui");

const mend = () => {
  for (const list of sheet.querySelectorAll("select:not([aria-label])"))
    list.setAttribute("aria-label", list.id || "Choose");
  for (const field of sheet.querySelectorAll("textarea:not([aria-label])"))
    field.setAttribute("aria-label", field.closest("tr")?.dataset.paramName ?? "Body");
  for (const example of sheet.querySelectorAll("pre:is(.example, .microlight):not([tabindex])")) example.tabIndex = 0;
  for (const [kind, level] of [["h3.opblock-tag", 2], ["h4", 3]])
    for (const heading of sheet.querySelectorAll(`${kind}:not([aria-level])`)) {
      heading.setAttribute("role", "heading");
      heading.setAttribute("aria-level", level);
    }
  for (const inner of sheet.querySelectorAll("main:not([role])")) inner.setAttribute("role", "group");
  for (const link of sheet.querySelectorAll("button a[href]")) link.removeAttribute("href");
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

new MutationObserver(mend).observe(sheet, { childList: true, subtree: true, attributes: true, attributeFilter: ["href"] });
mend();
