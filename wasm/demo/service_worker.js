// SPDX-License-Identifier: Apache-2.0
// Keeps the page, so that it opens without a network; models keep themselves. The build fills in the files.
const files = /* files */ [];
const cacheName = `tulle-demo-${/* version */ 0}`;

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(cacheName)
      .then((cache) => cache.addAll(files))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  const drop = async () => {
    for (const name of await caches.keys())
      if (name.startsWith('tulle-demo-') && name !== cacheName) await caches.delete(name);
    await self.clients.claim();
  };
  event.waitUntil(drop());
});

self.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const isOurs = files.some((file) => new URL(file, self.location).href === url.split(/[?#]/)[0]);
  if (method === 'GET' && isOurs) {
    event.respondWith(
      caches.match(event.request, { cacheName, ignoreSearch: true }).then((kept) => kept ?? fetch(event.request)),
    );
  }
});
