// Shows notifications that the site sends to this browser. It keeps no pages and touches no requests.
// Served at the root of the site, so that it may open any page; the icon's address and
// the reader's words are filled in there.
"use strict";

const NEWS = { title: "Next in Line", body: NEWS_TEXT, path: "/me/" };

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("push", (event) => {
  let told = NEWS;
  try {
    told = { ...NEWS, ...event.data.json() };
  } catch {
    // a message that nobody can read still has to be shown
  }
  const { title, body, tag, path } = told;
  const icon = "ICON_URL";
  event.waitUntil(
    self.registration.showNotification(title, { body, tag, icon, renotify: Boolean(tag), data: { path } })
  );
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const page = new URL(event.notification.data?.path ?? NEWS.path, self.location.origin);
  if (page.origin !== self.location.origin) return;
  event.waitUntil((async () => {
    const open = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const same = open.find((each) => new URL(each.url).pathname === page.pathname);
    return same ? same.focus() : self.clients.openWindow(page.href);
  })());
});
