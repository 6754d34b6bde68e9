// SPDX-License-Identifier: Apache-2.0
// The parts that nothing outside sees: layouts, hashes, probes, files in pieces.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { expectedHash } from '../dist/worker/integrity.js';
import { TulleError } from '../dist/error.js';
import { generate } from '../dist/worker/generate.js';
import { Memory } from '../dist/worker/memory.js';
import { bytesFile, joinedFile } from '../dist/worker/open_file.js';
import { Sha256 } from '../dist/worker/sha256.js';
import { layoutOf, structs } from '../dist/worker/structs.js';
import { areExact, chooseVariant } from '../dist/worker/variant.js';
import { baseName } from '../dist/source.js';

test('structs are those of the C ABI, field by field', () => {
  const golden = readFileSync(new URL('../../capi/tulle.layout', import.meta.url), 'utf8');
  for (const name of Object.keys(structs)) {
    const layout = layoutOf(name, 8);
    const fields = Object.entries(layout.fields).map(([field, { offset }]) => `  ${field} ${offset}\n`);
    assert.ok(golden.includes(`${name} ${layout.size}\n${fields.join('')}`), name);
  }
});

test('a name is the last part of an address, a bare % included', () => {
  assert.equal(baseName('https://host/models/a%20b.gguf?x=1#y'), 'a b.gguf');
  assert.equal(baseName('https://host/models/a%zz.gguf'), 'a%zz.gguf');
});

test('addresses have 4 bytes in WebAssembly', () => {
  assert.equal(layoutOf('tulle_string').size, 8);
  assert.equal(layoutOf('tulle_generate_options').fields.max_new_tokens.offset, 16);
  assert.equal(layoutOf('tulle_session_options').size, 48);
});

test('text keeps a leading byte order mark', () => {
  const wasmMemory = new WebAssembly.Memory({ initial: 1 });
  const size = new TextEncoder().encodeInto('\uFEFFx', new Uint8Array(wasmMemory.buffer)).written;
  assert.equal(new Memory({ wasmMemory }).text(0, size), '\uFEFFx');
});

test('a prompt whose reading fails is forgotten', async () => {
  let history = [1, 2, 3];
  const engine = {
    history: () => Int32Array.from(history),
    draft() {},
    truncate: (_session, length) => (history = history.slice(0, length)),
    generate: (_session, tokens) => (history = [...history, ...tokens]),
    next() {
      if (history.length > 20) throw new TulleError('out_of_memory', 'full');
    },
  };
  const request = { prompt: { tokens: new Int32Array(40) }, append: true, options: {} };
  const breathing = { pause: async () => {}, stopped: false, pace: { slice: 8 } };
  await assert.rejects(generate(engine, 1, request, breathing, () => {}, () => {}), { code: 'out_of_memory' });
  assert.deepEqual(history, [1, 2, 3]);
});

test('SHA-256 of any length and cut is that of Node', () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_000]) {
    const bytes = randomBytes(size);
    const hash = new Sha256();
    for (let at = 0; at < size;) {
      const step = 1 + ((at * 7919) % 200);
      hash.update(bytes.subarray(at, at + step));
      at += step;
    }
    assert.deepEqual(Buffer.from(hash.digest()), createHash('sha256').update(bytes).digest(), String(size));
  }
});

test('integrity is understood as base64 and as hex, for one file and by name', () => {
  const digest = createHash('sha256').update('tulle').digest();
  const hex = digest.toString('hex');
  assert.equal(expectedHash(`sha256-${digest.toString('base64')}`, 'a'), hex);
  assert.equal(expectedHash({ a: hex.toUpperCase() }, 'a'), hex);
  assert.equal(expectedHash({ a: hex }, 'b'), undefined);
  assert.throws(() => expectedHash('md5-x', 'a'), { code: 'invalid_argument' });
});

test('pieces of a file are read across their borders', () => {
  const whole = randomBytes(100);
  const pieces = [whole.subarray(0, 10), whole.subarray(10, 11), whole.subarray(11, 60), whole.subarray(60)];
  const file = joinedFile(
    'whole',
    pieces.map((bytes, index) => bytesFile(String(index), bytes)),
  );
  assert.equal(file.size, 100);
  for (const [offset, size] of [
    [0, 100],
    [5, 10],
    [9, 3],
    [59, 41],
    [99, 1],
    [20, 0],
  ]) {
    const read = new Uint8Array(size);
    file.read(read, offset);
    assert.deepEqual(Buffer.from(read), whole.subarray(offset, offset + size));
  }
});

test('relaxed dot products are exact or not by how they are made', () => {
  const signed = (bits, index) => Number(BigInt.asIntN(8, bits >> BigInt(8 * index)));
  const products = (of) => (a, b) => [0, 1, 2, 3].map((index) => signed(a, index) * of(signed(b, index)));
  const unsignedProducts = products((byte) => byte & 255);
  const total = (values, sum) => values.reduce((all, each) => all + each, sum);
  const saturate = (value) => Math.max(-32768, Math.min(32767, value));
  const pairs = ([p, q, r, s]) => [saturate(p + q), saturate(r + s)];
  assert.ok(areExact((a, b, sum) => total(unsignedProducts(a, b), sum))); // vpdpbusd
  assert.ok(areExact((a, b, sum) => total(products((byte) => byte)(a, b), sum))); // sdot
  assert.ok(!areExact((a, b, sum) => total(pairs(unsignedProducts(a, b)), sum))); // vpmaddubsw
  assert.ok(!areExact((a, b, sum) => 2 * total(unsignedProducts(a, b), 0) + sum)); // Node 20
});

test('relaxed products are taken where they are exact: in Node 24 with AVX-VNNI, not in Node 20, which computes wrong ones', () => {
  const script = fileURLToPath(new URL('../dist/worker/variant.js', import.meta.url));
  const program = (wanted) =>
    `import(${JSON.stringify(script)}).then(({ chooseVariant }) => console.log(chooseVariant(${wanted})))`;
  const run = (node, wanted = '', ...options) =>
    execFileSync(node, [...options, '--eval', program(wanted)], { encoding: 'utf8' }).trim();
  const node24 = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  if (process.arch === 'x64' && process.platform === 'linux') {
    const vnni = readFileSync('/proc/cpuinfo', 'utf8').includes(' avx_vnni ');
    assert.equal(run(node24), vnni ? 'relaxed' : 'simd128');
  }
  if (process.versions.node.startsWith('20.')) {
    assert.equal(run(process.execPath), 'simd128');
    assert.equal(run(process.execPath, '', '--experimental-wasm-relaxed-simd'), 'simd128');
    assert.throws(() => chooseVariant('relaxed'), { code: 'unsupported' });
  }
  assert.equal(chooseVariant('simd128'), 'simd128');
});
