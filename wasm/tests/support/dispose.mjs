// SPDX-License-Identifier: Apache-2.0
// Models and sessions of a test are disposed of after it (Node 20 has no "await using").
import { afterEach } from 'node:test';

const kept = [];

export function keep(disposable) {
  kept.push(disposable);
  return disposable;
}

afterEach(async () => {
  for (const disposable of kept.splice(0).reverse()) await disposable[Symbol.asyncDispose]();
});
