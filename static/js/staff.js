// Passkeys and copying: shows what needs this file, and says what the browser refuses.
import { t } from "./words.js";

(() => {
  const canPasskeys = Boolean(window.PublicKeyCredential);
  const refusals = {
    NotAllowedError: t("Nothing was done: the request was cancelled, or it took too long."),
    InvalidStateError: t("This device has a passkey for your account already."),
    SecurityError: t("Passkeys need a host name and HTTPS."),
    NotSupportedError: t("This device cannot make such a key."),
  };

  function reveal() {
    for (const part of document.querySelectorAll(".needs-js")) {
      if ("copies" in part.dataset ? Boolean(navigator.clipboard) : canPasskeys) part.hidden = false;
    }
  }

  // No passkey works at an address of digits; on this machine, another name leads to the same page.
  function elsewhere() {
    if (!/^[\d.]+$|^\[/.test(location.hostname)) return null;
    const link = document.createElement("a");
    link.href = `${location.protocol}//localhost:${location.port}${location.pathname}`;
    link.textContent = t("Open this page at localhost");
    return link;
  }

  document.addEventListener("allauth.error", (event) => {
    const place = document.getElementById("passkey-failed");
    if (!place) return;
    const name = event.detail.exception && event.detail.exception.name;
    const said = place.querySelector("p"), link = name === "SecurityError" && elsewhere();
    if (link) said.replaceChildren(t("Passkeys do not work at this address."), " ", link, ".");
    else said.textContent = refusals[name] || t("The passkey could not be used. Reload the page and try again.");
    place.hidden = false;
    place.scrollIntoView({ block: "nearest" });
    event.preventDefault();
  });

  document.addEventListener("click", async (event) => {
    if (event.target.matches("[data-copy]")) event.target.select();
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copies), said = button.querySelector("span");
    try {
      await navigator.clipboard.writeText(field.value);
      said.textContent = t("Copied");
    } catch { // the browser does not let pages copy
      field.select();
      said.textContent = t("Press Ctrl C to copy");
    }
    said.dataset.said = ""; // news of the page leave it alone (morph.js)
  });

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", reveal);
  else reveal();
})();
