// SPDX-License-Identifier: Apache-2.0
// SmolLM2-135M-Instruct, where TULLE_TEST_MODEL names it: golden tokens, memory, and the time until a stop takes effect.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadModel } from 'tulle';
import { noBrowser } from './support/browser.mjs';
import { keep } from './support/dispose.mjs';
import { goldenFolder, realModel } from './support/golden.mjs';
import { pages } from './support/pages.mjs';

const { prompts } = JSON.parse(readFileSync(goldenFolder + 'smollm2.json', 'utf8'));
const skip = realModel ? false : 'TULLE_TEST_MODEL names no model';
const question = [{ role: 'user', content: 'What is the capital of France? Answer in one word.' }];

test('in Node it gives the golden tokens', { skip }, async () => {
  const model = keep(await loadModel(realModel, { assembly: 'dense_f32', sequenceLength: 256 }));
  for (const { ids, text, greedy } of prompts.slice(0, 2)) {
    assert.deepEqual([...(await model.encode(text))], ids);
    const { tokens } = await model.generate(ids, { maxNewTokens: 16, ignoreEos: true }).result;
    assert.deepEqual([...tokens], greedy.slice(0, 16));
  }
});

for (const [assembly, count] of [['dense_i8', 64], ['bitmask_i8', 16]]) {
  test(`${assembly} gives the tokens of the native library`, { skip }, async () => {
    const native = JSON.parse(readFileSync(goldenFolder + 'smollm2_i8.json', 'utf8'));
    const model = keep(await loadModel(realModel, { assembly, sequenceLength: 256 }));
    for (const [index, { ids }] of prompts.slice(0, 3).entries()) {
      const { tokens } = await model.generate(ids, { maxNewTokens: count, ignoreEos: true }).result;
      assert.deepEqual([...tokens], native[index].slice(0, count));
    }
  });
}

test('memory holds the weights once', { skip }, async () => {
  const model = keep(await loadModel(realModel, { threads: 1, sequenceLength: 512 }));
  const chat = await model.generate(question, { maxNewTokens: 8 }).result;
  assert.match(chat.text, /Paris/);
  // It never shrinks, so this is the peak. Beside the weights: keys and values of 512 tokens, tokenizer, activations.
  const most = 1.15 * statSync(realModel).size + 40e6;
  assert.ok((await model.memoryBytes()) <= most, `${await model.memoryBytes()} of ${most} bytes`);
});

test('the command writes on', { skip }, () => {
  const { stdout } = spawnSync(
    process.execPath,
    [
      fileURLToPath(new URL('../dist/cli.js', import.meta.url)),
      'generate',
      realModel,
      'The capital of France is',
      '--max-new-tokens',
      '2',
    ],
    { encoding: 'utf8' },
  );
  assert.equal(stdout, ' Paris.\n');
});

describe('in Chromium', { skip: skip || noBrowser }, () => {
  const site = pages({ '/real/': dirname(realModel ?? '/') });

  test('it answers, and stops within 100 ms in decode and 300 ms in prefill', async (context) => {
    const page = await site.page(site.isolated);
    const found = await page.evaluate(
      async ([source, question]) => {
        const model = await tulle.loadModel(source, { threads: 1, sequenceLength: 1024 });
        const { text } = await model.generate(question, { maxNewTokens: 8 }).result;
        const ended = [];
      const reaction = async (prompt, begin) => {
          const times = [];
          for (let round = 0; round < 3; ++round) {
            const generation = model.generate([round, ...prompt], { maxNewTokens: 500, ignoreEos: true });
            await begin(generation);
            const stopped = performance.now();
            generation.stop();
            const { finishReason, usage } = await generation.result;
            times.push(performance.now() - stopped);
            ended.push([finishReason, usage.completionTokens > 0]);
          }
          return Math.min(...times); // other tests may have had the core meanwhile
        };
        const fourPieces = async (generation) => {
          const pieces = generation[Symbol.asyncIterator]();
          for (let count = 0; count < 4; ++count) await pieces.next();
        };
        const decode = await reaction([504, 2], fourPieces);
        const long = Array.from({ length: 800 }, (_, index) => 100 + ((index * 37) % 4000));
        const prefill = await reaction(long, () => new Promise((resolve) => setTimeout(resolve, 300)));
        const variant = model.runtime.variant;
        await model.dispose();
        return { text, decode, prefill, variant, ended };
      },
      [`/real/${basename(realModel)}`, question],
    );
    context.diagnostic(
      `${found.variant} stops in ${found.decode.toFixed(0)} ms in decode, ${found.prefill.toFixed(0)} ms in prefill`,
    );
    assert.match(found.text, /Paris/);
    const inDecode = Array(3).fill(['cancelled', true]);
    const inPrompt = Array(3).fill(['cancelled', false]);
    assert.deepEqual(found.ended, [...inDecode, ...inPrompt]);
    assert.ok(found.decode <= 100, `${found.decode} ms in decode`);
    assert.ok(found.prefill <= 300, `${found.prefill} ms in prefill`);
  });
});
