// SPDX-License-Identifier: Apache-2.0
// The modules of the npm package under Node.
//   usage: node modules_test.mjs DIST ROOT      DIST holds the modules, ROOT is the repository
// The environment may name SmolLM2-135M-Instruct (Q4_1) as TULLE_TEST_MODEL.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import zlib from 'node:zlib';

import { Engine, StatusError, status } from './engine.mjs';

const [dist, root] = process.argv.slice(2).map((each) => path.resolve(each));
const golden = path.join(root, 'tests/golden');
const names = ['tulle-simd128', 'tulle-simd128-threads', 'tulle-relaxed', 'tulle-relaxed-threads'];
const file = (name) => path.join(dist, `${name}.mjs`);
const lines = (name) => fs.readFileSync(path.join(root, name), 'utf8').trim().split('\n');
const json = (name) => JSON.parse(fs.readFileSync(path.join(golden, name), 'utf8'));

/** Model, assembly, prompt and tokens of every line of the contract of all languages. */
const contract = lines('tests/golden/contract.txt').map((line) => {
  const [model, assembly] = line.split(' ');
  const facts = json(`models/${model.endsWith('.gguf') ? model.replace('.gguf', '.') : `${model}/`}golden.json`);
  return { model: path.join(golden, 'models', model), assembly, prompt: facts.tokens.slice(0, facts.greedy_prompt_tokens),
           greedy: facts.greedy };
});
const tiny = contract.find((each) => each.model.endsWith('q8_0.gguf'));

const failsWith = (code, run) => assert.throws(run, (error) => error instanceof StatusError && error.code === code);

test('the modules export the C ABI but what needs a file system, functions of JavaScript, or much code', () => {
  const exported = lines('wasm/native/exports.txt').map((line) => line.slice(1)).sort();
  const unused = ['tulle_model_load', 'tulle_model_load_adapted', 'tulle_model_load_files', 'tulle_model_load_reader',
                  'tulle_session_constrain', 'tulle_session_read_prompt'];
  const wanted = lines('capi/tulle.symbols').filter((name) => !unused.includes(name));
  assert.deepEqual(exported, [...wanted, 'tulle_host_load', 'malloc', 'free'].sort());
});

test('a module has at most 337,000 bytes when it is compressed', () => {
  for (const name of names) {
    const size = zlib.gzipSync(fs.readFileSync(path.join(dist, `${name}.wasm`)), { level: 9 }).length;
    console.log(`${name}.wasm: ${size} bytes gzip`);
    assert.ok(size <= 337_000, `${name}: ${size}`);
  }
});

// Relaxed dot products are not exact in Node 20: tests of the package run those modules in Node 24 and in Chromium.
const running = names.filter((name) => name.includes('simd128'));
for (const name of running) {
  test(`${name}: the golden tokens of every language`, async () => {
    const engine = await Engine.open(file(name));
    for (const { model, assembly, prompt, greedy } of contract) {
      const loaded = engine.load(model, assembly), session = engine.session(loaded);
      assert.deepEqual(engine.generate(session, prompt, greedy.length).tokens, greedy, `${model} ${assembly}`);
      engine.freeSession(session);
      engine.freeModel(loaded);
    }
    assert.equal(engine.module._tulle_live_handles(), 0n);
  });
}

test('the logits with and without threads and of all numbers of threads are bit-identical', async () => {
  const hashes = new Set();
  const kernels = ['auto', 'dense_f32', 'dense_i8', 'bitmask_i8', 'i8'];
  for (const name of running) {
    const engine = await Engine.open(file(name), 3);
    for (const threads of name.endsWith('threads') ? [1, 2, 4] : [1]) {
      const hash = crypto.createHash('sha256');
      for (const kernel of kernels) {
        const model = engine.load(tiny.model, kernel), session = engine.session(model, threads);
        engine.generate(session, tiny.prompt, 12, true).logits.forEach((values) => hash.update(values));
        engine.freeSession(session);
        engine.freeModel(model);
        await new Promise(setImmediate);  // freed helpers go back to the pool
      }
      hashes.add(hash.digest('hex'));
    }
  }
  assert.equal(hashes.size, 1);
});

test('a module without threads refuses a session with some', async () => {
  const engine = await Engine.open(file('tulle-simd128'));
  const model = engine.load(tiny.model);
  failsWith(status.outOfMemory, () => engine.session(model, 2));
  engine.freeSession(engine.session(model, 0));  // one thread per core: there are none, so one
});

test('a hundred models come and go in the same memory', async () => {
  const engine = await Engine.open(file('tulle-simd128'));
  let size = 0;
  for (let i = 0; i < 100; ++i) {
    const model = engine.load(tiny.model), session = engine.session(model);
    engine.generate(session, tiny.prompt, 2);
    engine.freeSession(session);
    engine.freeModel(model);
    if (i === 0) size = engine.memory.byteLength;
  }
  assert.equal(engine.memory.byteLength, size);
  assert.equal(engine.module._tulle_live_handles(), 0n);
});

test('a file that cannot be read, and a wish to stop, end loading and leave nothing', async () => {
  const engine = await Engine.open(file('tulle-simd128'));
  const read = engine.read;
  engine.read = () => 5;
  failsWith(status.io, () => engine.load(tiny.model));
  let reads = 0;
  engine.read = function (...part) { return ++reads > 10 ? 5 : read.apply(this, part); };
  failsWith(status.io, () => engine.load(tiny.model));
  engine.read = read;
  engine.progress = (what, fraction) => (fraction > 0.4 ? 1 : 0);
  failsWith(status.cancelled, () => engine.load(tiny.model));
  engine.progress = () => 0;
  failsWith(status.malformed, () => engine.load(path.join(golden, 'contract.txt')));
  assert.equal(engine.module._tulle_live_handles(), 0n);
  engine.freeModel(engine.load(tiny.model));
});

const real = process.env.TULLE_TEST_MODEL;
test('SmolLM2 says what it says natively, in little more memory than its file has', { skip: !real && 'no TULLE_TEST_MODEL' },
  async () => {
    const engine = await Engine.open(file('tulle-simd128'));
    const began = performance.now();
    const model = engine.load(real);
    const size = fs.statSync(real).size, peak = engine.memory.byteLength;
    console.log(`loaded in ${Math.round(performance.now() - began)} ms; ${(peak / size).toFixed(3)} of the file's size`);
    assert.ok(peak <= 1.15 * size, `${peak} bytes for a file of ${size}`);
    engine.freeModel(model);
    const { ids, greedy } = json('smollm2.json').prompts[0];
    const session = engine.session(engine.load(real, 'dense_f32/contiguous_f32'), 1, 64), count = 6;
    const start = performance.now();
    const { tokens } = engine.generate(session, ids, count);
    console.log(`${count} tokens after ${ids.length} in ${Math.round(performance.now() - start)} ms`);
    assert.deepEqual(tokens, greedy.slice(0, count));
  });

test.after(() => setImmediate(() => process.exit()));  // idle helpers would keep Node alive
