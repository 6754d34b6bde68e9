// SPDX-License-Identifier: Apache-2.0
// The package in Chromium: sources, isolation, bits, stopping.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { loadModel } from 'tulle';
import { noBrowser } from './support/browser.mjs';
import { contract, facts } from './support/golden.mjs';
import { keep } from './support/dispose.mjs';
import { pages } from './support/pages.mjs';

const tiny = facts('gguf/q8_0.gguf');
const greedy = { maxNewTokens: 32, ignoreEos: true };
/** Of all pages of a browser, in MB. */
async function memoryOf(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))[1]));
  return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1000);
}

async function until(isTrue) {
  for (const end = Date.now() + 5000; !isTrue() && Date.now() < end;)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(isTrue());
}

const directoryFiles = ['config.json', 'model.safetensors'];

/** The builds that run in a page's browser. */
async function variantsOf(page, context) {
  const relaxed = await page.evaluate(async () => (await import('/dist/worker/variant.js')).chooseVariant() === 'relaxed');
  if (!relaxed) context.diagnostic('this processor has no dot product that the browser makes relaxed ones of: not tested');
  return relaxed ? ['simd128', 'relaxed'] : ['simd128'];
}

describe('Chromium', { skip: noBrowser }, () => {
  const site = pages();

  test('every model of the contract gives the golden tokens', async (context) => {
    const page = await site.page();
    const variants = await variantsOf(page, context);
    for (const { name, assembly, prompt, greedy: expected } of contract()) {
      const file = name === 'gguf-parts' ? `${name}/q8_0-00001-of-00003.gguf` : name;
      const path = file.endsWith('.gguf') ? `/models/${file}` : `/models/${name}/`;
      for (const variant of variants) {
        const { tokens, runtime } = await page.evaluate(
          ([source, options, tokens, generation]) => generate(source, options, tokens, generation),
          [path, { assembly, variant, threads: 1 }, prompt, { maxNewTokens: expected.length, ignoreEos: true }],
        );
        assert.deepEqual(tokens, expected, `${name} as ${assembly}, ${variant}`);
        assert.equal(runtime.variant, variant);
      }
    }
  });

  test('logits have the same bits: 1 and 2 threads, simd128 and relaxed, Chromium and Node', async (context) => {
    const page = await site.page(site.isolated);
    const variants = await variantsOf(page, context);
    for (const assembly of ['dense_i8', 'bitmask_i8', 'i8', 'dense_f32']) {
      const found = new Map();
      for (const variant of variants) {
        for (const threads of [1, 2]) {
          const { logits, runtime } = await page.evaluate(
            ([options, tokens, generation]) => generate('/models/gguf/q8_0.gguf', options, tokens, generation),
            [{ assembly, variant, threads }, tiny.prompt, greedy],
          );
          assert.deepEqual([runtime.variant, runtime.threads], [variant, threads]);
          found.set(`${variant} ${threads}`, logits);
        }
      }
      const model = keep(await loadModel(tiny.path, { assembly, threads: 1 }));
      const session = keep(await model.session());
      await session.generate(tiny.prompt, { ...greedy, keepLogits: true }).result;
      const node = createHash('sha256')
        .update(new Uint8Array((await session.logits()).buffer))
        .digest('hex');
      assert.deepEqual([...found.values()], Array(2 * variants.length).fill(node), assembly);
    }
  });

  test('a page that is not isolated has one thread, and says why', async () => {
    const page = await site.page();
    const { tokens, runtime } = await page.evaluate(
      ([tokens, generation]) => generate('/models/gguf/q8_0.gguf', { threads: 4 }, tokens, generation),
      [tiny.prompt, greedy],
    );
    assert.deepEqual(tokens, tiny.greedy);
    assert.equal(runtime.threads, 1);
    assert.match(runtime.threadsNote, /Cross-Origin-Opener-Policy/);
  });

  test('every kind of source gives the same model', async () => {
    const page = await site.page();
    const found = await page.evaluate(
      async ([tokens, generation]) => {
        const path = '/models/gguf/q8_0.gguf';
        const bytes = await bytesOf(path);
        const picked = new File([bytes], 'tiny.gguf');
        const sources = {
          path,
          URL: new URL(path, location.href),
          File: picked,
          Blob: new Blob([bytes]),
          ArrayBuffer: bytes.slice(),
          Uint8Array: new Uint8Array(bytes.slice()),
          stream: new Blob([bytes]).stream(),
          pieces: [picked.slice(0, 50_000), picked.slice(50_000, 70_000), picked.slice(70_000)],
        };
        const found = {};
        for (const [kind, source] of Object.entries(sources)) {
          found[kind] = (await generate(source, { threads: 1 }, tokens, generation)).tokens;
        }
        return found;
      },
      [tiny.prompt, greedy],
    );
    assert.equal(Object.keys(found).length, 8);
    for (const [kind, tokens] of Object.entries(found)) assert.deepEqual(tokens, tiny.greedy, kind);
  });

  test('files of a directory that were picked', async () => {
    const { prompt, greedy: expected } = facts('codegen-tiny');
    const page = await site.page();
    const { tokens } = await page.evaluate(
      async ([names, tokens, generation]) => {
        const files = [];
        for (const name of names) files.push(new File([await bytesOf(`/models/codegen-tiny/${name}`)], name));
        return generate(files, { threads: 1 }, tokens, generation);
      },
      [directoryFiles, prompt, greedy],
    );
    assert.deepEqual(tokens, expected);
  });

  test('an abort ends loading while it downloads, packs, or waits for a stream; so does an exception', async () => {
    const page = await site.page();
    const outcomes = await page.evaluate(async () => {
      const outcomes = [];
      for (const phase of ['download', 'load']) {
        const controller = new AbortController();
        const load = tulle.loadModel('/models/gguf/q8_0.gguf', {
          signal: controller.signal,
          threads: 1,
          onProgress: (progress) => progress.phase === phase && controller.abort(),
        });
        outcomes.push((await failure(load)).name);
      }
      const endless = new ReadableStream({ pull: () => new Promise(() => {}) });
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 20);
      outcomes.push((await failure(tulle.loadModel(endless, { signal: controller.signal }))).name);
      const onProgress = () => {
        throw new RangeError('mine');
      };
      outcomes.push((await failure(tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1, onProgress }))).name);
      const model = await tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1 });
      outcomes.push(model.runtime.fromCache);
      await model.dispose();
      return outcomes;
    });
    assert.deepEqual(outcomes, ['AbortError', 'AbortError', 'AbortError', 'RangeError', true]);
  });

  test('break, stop() and an abort end a generation, in the prompt too; the page never blocks', async () => {
    const page = await site.page();
    const attempt = () => page.evaluate(async (prompt) => {
      const model = await tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1 });
      let longestGap = 0;
      let last = performance.now();
      const timer = setInterval(() => {
        longestGap = Math.max(longestGap, performance.now() - last);
        last = performance.now();
      }, 1);
      const long = { maxNewTokens: 240, ignoreEos: true };
      const reasons = [];
      const left = model.generate(prompt, long);
      for await (const _ of left) break;
      reasons.push((await left.result).finishReason);
      const controller = new AbortController();
      const aborted = model.generate(prompt, { ...long, signal: controller.signal });
      const pieces = aborted[Symbol.asyncIterator]();
      await pieces.next();
      controller.abort();
      const rest = async () => {
        while (!(await pieces.next()).done);
      };
      reasons.push((await failure(rest())).name);
      const session = await model.session();
      const reading = session.generate(Array(200).fill(5), long);
      reading.stop();
      reasons.push((await reading.result).finishReason);
      const history = (await session.history()).length;
      clearInterval(timer);
      await model.dispose();
      return { reasons, longestGap, history };
    }, tiny.prompt);
    const gaps = [];
    do {  // a busy machine may stop a page, too, but not every time
      const { reasons, longestGap, history } = await attempt();
      assert.deepEqual(reasons, ['cancelled', 'AbortError', 'cancelled']);
      assert.equal(history, 0);
      gaps.push(longestGap);
    } while (gaps.at(-1) >= 200 && gaps.length < 3);
    assert.ok(gaps.at(-1) < 200, `the page stood still for ${gaps} ms`);
  });

  test('a page that is left ends its worker', async () => {
    const page = await site.page();
    await page.evaluate(async (prompt) => {
      const model = await tulle.loadModel('/models/gguf/q8_0.gguf', { threads: 1 });
      globalThis.running = model.generate(prompt, { maxNewTokens: 200, ignoreEos: true });
      globalThis.again = () => model.generate(prompt, { maxNewTokens: 200, ignoreEos: true }).result.then(again);
      again();
    }, tiny.prompt);
    assert.equal(page.workers().length, 1);
    await page.goto(site.plain.url + '/models/gguf/q8_0.golden.json');
    await until(() => page.workers().length === 0);
  });

  test('40 models loaded and disposed of leave nothing', async () => {
    const page = await site.page(site.isolated);
    const cycles = (count, threads) =>
      page.evaluate(
        async ([prompt, count, threads]) => {
          for (let cycle = 0; cycle < count; ++cycle) {
            const model = await tulle.loadModel('/models/gguf/q8_0.gguf', { threads });
            await model.generate(prompt, { maxNewTokens: 2, ignoreEos: true }).result;
            await model.dispose();
          }
        },
        [tiny.prompt, count, threads],
      );
    await cycles(10, 2);
    const before = await memoryOf(site.browser);
    await cycles(30, 1);
    await until(() => page.workers().length === 0);
    const after = await memoryOf(site.browser);
    assert.ok(after - before < 40, `${before} MB became ${after} MB`); // a module that stays has 16 MB or more
  });
});
