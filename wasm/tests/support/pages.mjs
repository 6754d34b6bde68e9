// SPDX-License-Identifier: Apache-2.0
// A browser, and servers of test pages with and without cross-origin isolation.
import { fileURLToPath } from 'node:url';
import { after, afterEach, before } from 'node:test';
import { launch, open } from './browser.mjs';
import { goldenFolder } from './golden.mjs';
import { serve } from './server.mjs';

const wasm = fileURLToPath(new URL('../../', import.meta.url));
const folders = { '/': wasm + 'tests/pages', '/dist/': wasm + 'dist', '/models/': goldenFolder + 'models' };

/** For the tests of a file: browser, plain, isolated, page(server) in its own profile; `more` is served too. */
export function pages(more = {}) {
  const shared = {};
  const contexts = [];
  before(async () => {
    shared.browser = await launch();
    shared.plain = await serve({ ...folders, ...more });
    shared.isolated = await serve({ ...folders, ...more }, { isolated: true });
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    shared.plain.reset();
    shared.isolated.reset();
  });
  after(async () => {
    await shared.browser.close();
    await Promise.all([shared.plain.close(), shared.isolated.close()]);
  });
  shared.context = async () => {
    contexts.push(await shared.browser.newContext());
    return contexts.at(-1);
  };
  shared.page = async (server = shared.plain, context = undefined) =>
    open(context ?? (await shared.context()), server.url + '/index.html');
  return shared;
}
