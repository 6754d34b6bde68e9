// SPDX-License-Identifier: Apache-2.0
// Downloads in Chromium: what is cut, changed or broken heals, and tabs do not disturb each other.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { describe, test } from 'node:test';
import { noBrowser } from './support/browser.mjs';
import { facts } from './support/golden.mjs';
import { pages } from './support/pages.mjs';

const tiny = facts('gguf/q8_0.gguf');
const { size } = statSync(tiny.path);
const greedy = { maxNewTokens: 32, ignoreEos: true };

describe('the cache in Chromium', { skip: noBrowser }, () => {
  const site = pages();

  async function loadsWell(page, options = {}) {
    const { tokens, runtime } = await page.evaluate(
      ([options, tokens, generation]) => generate('/models/gguf/q8_0.gguf', options, tokens, generation),
      [{ threads: 1, ...options }, tiny.prompt, greedy],
    );
    assert.deepEqual(tokens, tiny.greedy);
    return runtime;
  }

  /** The same again where the network failed too often in a row: on a busy machine a cut may lose all that came. */
  async function loadsAtLast(page, loads = 8) {
    try {
      return await loadsWell(page);
    } catch (error) {
      if (loads === 1 || !error.message.includes('loading again goes on')) throw error;
      return loadsAtLast(page, loads - 1);
    }
  }

  /** Loads and aborts once there are so many bytes. */
  async function abortsAfter(page, bytes) {
    site.plain.faults.chunkDelayMs = 500; // the abort arrives before the next chunk, also where the machine is slow
    const outcome = await page.evaluate((bytes) => {
      const controller = new AbortController();
      const onProgress = ({ loadedBytes }) => loadedBytes >= bytes && controller.abort();
      return failure(tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1, signal: controller.signal, onProgress }));
    }, bytes);
    assert.equal(outcome.name, 'AbortError');
    site.plain.faults.chunkDelayMs = 0;
  }

  /** Changes the stored model: its bytes, or their number. */
  const spoil = (page, change) =>
    page.evaluate(async (change) => {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle('tulle-models');
      for await (const [name, handle] of folder) {
        if (name.includes('.')) continue;
        const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
        const file = await handle.createWritable();
        if (change === 'flip') bytes[bytes.length - 100] ^= 1;
        if (change === 'garbage') bytes.fill(0x55);
        await file.write(change === 'cut' ? bytes.slice(0, 1000) : bytes);
        await file.close();
      }
    }, change);

  test('the second load needs no server, also in another page of the site', async () => {
    const context = await site.context();
    const first = await site.page(site.plain, context);
    assert.equal((await loadsWell(first)).fromCache, false);
    site.plain.faults.status = 500;
    assert.equal((await loadsWell(first)).fromCache, true);
    assert.equal((await loadsWell(await site.page(site.plain, context))).fromCache, true);
    assert.equal(site.plain.modelRequests().length, 1);
    await first.evaluate(() => tulle.clearCache());
    const outcome = await first.evaluate(() => failure(tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1 })));
    assert.equal(outcome.code, 'network');
  });

  test('a connection that is cut, and a load that was aborted, go on where they were', async () => {
    const page = await site.page();
    site.plain.faults.cutAfter = 40_000;
    await loadsAtLast(page);
    // A browser may drop what arrived right before the cut. Once bytes were kept, only what lacks is asked for.
    const requests = site.plain.modelRequests().map(({ status, ifRange }) => [status, !!ifRange]);
    const resumed = requests.findIndex(([status]) => status === 206);
    assert.notEqual(resumed, -1);
    assert.deepEqual(requests.slice(0, resumed), Array(resumed).fill([200, false]));
    assert.deepEqual(requests.slice(resumed), Array(requests.length - resumed).fill([206, true]));

    await page.evaluate(() => tulle.clearCache());
    site.plain.reset();
    await abortsAfter(page, 30_000);
    await loadsWell(page);
    assert.equal(site.plain.modelRequests().at(-1).status, 206);
  });

  test('a server that ignores Range, and one whose file changed, start anew', async () => {
    for (const fault of [{ ignoreRange: true }, { etag: '"another"' }]) {
      const page = await site.page();
      site.plain.reset();
      await abortsAfter(page, 30_000);
      Object.assign(site.plain.faults, fault);
      await loadsWell(page);
      const { range, status } = site.plain.modelRequests().at(-1);
      assert.deepEqual([!!range, status], [true, 200]);
    }
  });

  test('a download from another origin, which shows little, goes on all the same', async () => {
    // The page is of one server, the model of the other, which shows its ETag but allows no If-Range.
    const page = await site.page();
    const other = site.isolated;
    other.faults.allowOrigin = '*';
    other.faults.cutAfter = 40_000;
    const { tokens } = await page.evaluate(
      ([url, tokens, generation]) => generate(url, { threads: 1 }, tokens, generation),
      [other.url + '/models/gguf/q8_0.gguf', tiny.prompt, greedy],
    );
    assert.deepEqual(tokens, tiny.greedy);
    const answers = other.modelRequests();
    assert.equal(answers.at(-1).status, 206);
    assert.ok(answers.every(({ method, ifRange }) => method === 'GET' && ifRange === undefined));
  });

  test('a broken file of the cache is dropped and fetched again', async () => {
    const page = await site.page();
    await loadsWell(page);
    for (const change of ['cut', 'garbage']) {
      await spoil(page, change);
      assert.equal((await loadsWell(page)).fromCache, false, change);
    }
    const integrity = `sha256-${createHash('sha256').update(readFileSync(tiny.path)).digest('base64')}`;
    await spoil(page, 'flip');
    assert.equal((await loadsWell(page, { integrity })).fromCache, false, 'flip');
    assert.equal((await loadsWell(page, { integrity })).fromCache, true);
    assert.equal(site.plain.modelRequests().length, 4);
    const wrong = await page.evaluate(() =>
      failure(tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1, integrity: '0'.repeat(64) })),
    );
    assert.equal(wrong.code, 'integrity');
  });

  test('two tabs at once download once, and both have the model', async () => {
    const context = await site.context();
    const tabs = await Promise.all([site.page(site.plain, context), site.page(site.plain, context)]);
    site.plain.faults.chunkDelayMs = 20;
    await Promise.all(tabs.map((page) => loadsWell(page)));
    assert.equal(site.plain.modelRequests().length, 1);
  });

  test('a tab that is closed in the middle of a download leaves it to the next', async () => {
    const context = await site.context();
    const [first, second] = [await site.page(site.plain, context), await site.page(site.plain, context)];
    site.plain.faults.chunkDelayMs = 500; // the tab is closed before the file is whole, also where the machine is slow
    const started = first.evaluate(
      () =>
        new Promise((resolve) => {
          tulle.loadModel('/models/gguf/q8_0.gguf', {
            threads: 1,
            onProgress: ({ loadedBytes }) => loadedBytes > 30_000 && resolve(),
          });
        }),
    );
    await started;
    const next = loadsWell(second);
    await first.close();
    site.plain.faults.chunkDelayMs = 0;
    await next;
    assert.deepEqual(
      site.plain.modelRequests().map(({ status }) => status),
      [200, 206],
    );
  });

  test('storage that is too small is named, and nothing is left in it', async () => {
    const page = await site.page();
    const session = await page.context().newCDPSession(page);
    await session.send('Storage.overrideQuotaForOrigin', { origin: site.plain.url, quotaSize: Math.floor(size / 2) });
    const load = (options) =>
      page.evaluate(
        (options) => failure(tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1, ...options })),
        options,
      );
    assert.equal((await load({})).code, 'quota');
    const names = await page.evaluate(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('tulle-models');
      return Array.fromAsync(folder.keys());
    });
    assert.deepEqual(names, []);
    assert.equal(await load({ cache: false }), 'nothing');
  });
});
