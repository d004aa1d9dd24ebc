// Switches notifications on in this browser: asks for permission, and sends what the push service
// gave as a form like any other. Removing this device also ends the browser's own subscription.

const panel = document.getElementById("push");
const form = panel.querySelector("form");
const here = document.querySelector("form[data-push-here]");
const isPossible =
  isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

const show = (state) => {
  for (const part of panel.querySelectorAll("[data-push]")) part.hidden = part.dataset.push !== state;
};

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

const textOf = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const siteKey = form.dataset.siteKey;

async function subscribe() {
  await navigator.serviceWorker.register(panel.dataset.worker);
  const worker = await navigator.serviceWorker.ready;
  const earlier = await worker.pushManager.getSubscription();
  // One that this person's device does not use is of an earlier key, or of someone else.
  if (earlier && !(here && textOf(earlier.options.applicationServerKey) === siteKey)) await earlier.unsubscribe();
  return worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(siteKey) });
}

async function subscription() {
  const worker = await navigator.serviceWorker.getRegistration(panel.dataset.worker);
  return worker?.pushManager.getSubscription();
}

form.addEventListener("submit", async (event) => {
  if (form.elements.endpoint.value) return;
  event.preventDefault();
  try {
    const answer = await Notification.requestPermission();
    if (answer !== "granted") return show(answer === "denied" ? "blocked" : "off");
    const made = await subscribe();
    form.elements.endpoint.value = made.endpoint;
    form.elements.public_key.value = textOf(made.getKey("p256dh"));
    form.elements.secret.value = textOf(made.getKey("auth"));
    form.requestSubmit();
  } catch {
    show("off");
    panel.querySelector("[data-push=failed]").hidden = false;
  }
});

here?.addEventListener("submit", (event) => {
  if ("ended" in here.dataset) return;
  event.preventDefault();
  const end = async () => (await subscription())?.unsubscribe();
  end().catch(() => {}).finally(() => { // the server forgets the device in any case
    here.dataset.ended = "";
    here.requestSubmit();
  });
});

if (isPossible) {
  if (Notification.permission === "denied") show("blocked");
  else subscription().then((found) => show(found && here ? "on" : "off"), () => show("off"));
}
