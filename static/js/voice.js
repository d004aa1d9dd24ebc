// What the page speaks to screen readers: one thing at a time, when the reader pauses.
let voice;

export function say(text) {
  if (!voice) {
    voice = document.createElement("p");
    voice.className = "vh";
    voice.setAttribute("aria-live", "polite");
    document.body.append(voice);
  }
  voice.textContent = text;
}
