// SPDX-License-Identifier: Apache-2.0
// Puts the parts of the page together.
import type { Model } from 'tulle';
import { Chat } from './chat';
import { offerComparison } from './compare';
import { element } from './page';
import { offerModels, type Picked } from './picker';

const chat = new Chat();
let model: Model | undefined;
let picked: Picked | undefined;

async function use(next: Model | undefined): Promise<void> {
  await model?.dispose();
  model = next;
  chat.use(next);
}

const comparison = offerComparison(
  () => use(undefined),
  async () => {
    try {
      if (picked) await use(await picked.again({}));
    } catch (error) {
      element('status').textContent = String(error);
    }
  },
);

offerModels(async (next) => {
  picked = next;
  await use(next.model);
  comparison.use(next);
});

if (import.meta.env.PROD) void navigator.serviceWorker?.register('./service_worker.js');
