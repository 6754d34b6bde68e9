// SPDX-License-Identifier: Apache-2.0
// Downloads in Node: what is cut, changed or broken heals.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { clearCache, loadModel } from 'tulle';
import { keep } from './support/dispose.mjs';
import { facts, goldenFolder } from './support/golden.mjs';
import { serve } from './support/server.mjs';

const tiny = facts('gguf/q8_0.gguf');
const size = statSync(tiny.path).size;
let server, cache, options;
before(async () => (server = await serve({ '/models/': goldenFolder + 'models' })));
after(() => server.close());
beforeEach(() => {
  server.reset();
  cache = mkdtempSync(join(tmpdir(), 'tulle-test-'));
  options = { threads: 1, cache };
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));
const url = () => `${server.url}/models/gguf/q8_0.gguf`;
const cached = (ending) =>
  readdirSync(cache)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(cache, name));
const dataFile = () => cached('').find((path) => !/\.\w+$/.test(path));

async function loadsWell(source = url(), more = {}) {
  const model = keep(await loadModel(source, { ...options, ...more }));
  const { tokens } = await model.generate(tiny.prompt, { maxNewTokens: 32, ignoreEos: true }).result;
  assert.deepEqual([...tokens], tiny.greedy);
  return model.runtime;
}

test('the second load needs no server', async () => {
  const seen = [];
  assert.equal((await loadsWell(url(), { onProgress: (progress) => seen.push(progress) })).fromCache, false);
  assert.ok(seen.some(({ phase, totalBytes }) => phase === 'download' && totalBytes === size));
  assert.ok(seen.some(({ phase }) => phase === 'load'));
  assert.deepEqual(cached('.part'), []);
  server.faults.status = 500;
  assert.equal((await loadsWell()).fromCache, true);
  assert.equal(server.modelRequests().length, 1);
});

test('a connection that is cut goes on where it was', async () => {
  server.faults.cutAfter = 40_000;
  await loadsWell();
  const requests = server.modelRequests();
  assert.ok(requests.length >= 3);
  assert.deepEqual(
    requests.slice(1).map(({ status }) => status),
    Array(requests.length - 1).fill(206),
  );
  assert.ok(requests.slice(1).every(({ range, ifRange }) => range && ifRange));
});

test('a download that was aborted is kept, and the next load goes on', async () => {
  server.faults.chunkDelayMs = 50;
  const controller = new AbortController();
  const onProgress = ({ loadedBytes }) => loadedBytes > 20_000 && controller.abort();
  const begin = performance.now();
  await assert.rejects(loadModel(url(), { ...options, signal: controller.signal, onProgress }), { name: 'AbortError' });
  assert.ok(performance.now() - begin < 2000);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(cached('.part').length, 1);
  server.faults.chunkDelayMs = 0;
  await loadsWell();
  assert.equal(server.modelRequests().at(-1).status, 206);
});

test('the URL of the first part brings the others, which are kept too', async () => {
  const first = `${server.url}/models/gguf-parts/q8_0-00001-of-00003.gguf?download=true`;
  assert.equal((await loadsWell(first)).fromCache, false);
  assert.equal(server.modelRequests().length, 3);
  assert.equal((await loadsWell(first)).fromCache, true);
  assert.equal(server.modelRequests().length, 3);
});

test('a server that ignores Range, and one whose file changed, start anew', async () => {
  for (const fault of [{ ignoreRange: true }, { etag: '"another"' }]) {
    await clearCache(cache);
    server.reset();
    server.faults.status = undefined;
    server.faults.cutAfter = 40_000;
    server.faults.chunkDelayMs = 300;
    const controller = new AbortController();
    const onProgress = ({ loadedBytes }) => loadedBytes >= 30_000 && controller.abort();
    await assert.rejects(loadModel(url(), { ...options, signal: controller.signal, onProgress }), {
      name: 'AbortError',
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    delete server.faults.cutAfter;
    Object.assign(server.faults, fault);
    await loadsWell();
    assert.equal(server.modelRequests().at(-1).status, 200);
    assert.ok(server.modelRequests().at(-1).range);
  }
});

test('without an ETag or a date a download does not go on, but starts anew', async () => {
  server.faults.noValidator = true;
  server.faults.chunkDelayMs = 300;
  const controller = new AbortController();
  const onProgress = ({ loadedBytes }) => loadedBytes >= 30_000 && controller.abort();
  await assert.rejects(loadModel(url(), { ...options, signal: controller.signal, onProgress }), { name: 'AbortError' });
  await new Promise((resolve) => setTimeout(resolve, 200));
  await loadsWell();
  assert.equal(server.modelRequests().at(-1).range, undefined);
});

test('a broken file of the cache is dropped and fetched again', async () => {
  await loadsWell();
  truncateSync(dataFile(), 1000);
  assert.equal((await loadsWell()).fromCache, false);
  writeFileSync(dataFile(), Buffer.alloc(size, 0x55));
  assert.equal((await loadsWell()).fromCache, false);
  writeFileSync(cached('.json')[0], '{"url":');
  assert.equal((await loadsWell()).fromCache, false);
  assert.equal(server.modelRequests().length, 4);
});

test('an assembly that the model does not fit costs no download', async () => {
  await loadsWell();
  await assert.rejects(loadModel(url(), { ...options, assembly: '4:16_i8' }), { code: 'unsupported' });
  assert.equal((await loadsWell()).fromCache, true);
  assert.equal(server.modelRequests().length, 1);
});

test('a hash finds a flipped bit in the cache, and a server with another file', async () => {
  const integrity = `sha256-${createHash('sha256').update(readFileSync(tiny.path)).digest('base64')}`;
  await loadsWell(url(), { integrity });
  const bytes = readFileSync(dataFile());
  bytes[size - 100] ^= 1;
  writeFileSync(dataFile(), bytes);
  assert.equal((await loadsWell(url(), { integrity })).fromCache, false);
  await assert.rejects(loadModel(url(), { ...options, integrity: { 'q8_0.gguf': '0'.repeat(64) } }), {
    code: 'integrity',
  });
  assert.equal(dataFile(), undefined, 'what is not meant is not kept');
  await assert.rejects(loadModel(tiny.path, { integrity: '0'.repeat(64) }), { code: 'integrity' });
});

test('a hash for a name that no file has is an error', async () => {
  const hash = createHash('sha256').update(readFileSync(tiny.path)).digest('hex');
  const wrong = { code: 'invalid_argument', message: /Q8_0\.gguf.* q8_0\.gguf$/ };
  await assert.rejects(loadModel(url(), { ...options, integrity: { 'Q8_0.gguf': hash, 'q8_0.gguf': hash } }), wrong);
  await assert.rejects(loadModel(tiny.path, { threads: 1, integrity: { 'Q8_0.gguf': hash } }), wrong);
  const runtime = await loadsWell(url(), { integrity: { 'q8_0.gguf': hash } });
  assert.equal(runtime.fromCache, true, 'the file is not to blame');
});

test('what a server refuses is named', async () => {
  await assert.rejects(loadModel(`${server.url}/models/none.gguf`, options), { code: 'not_found' });
  server.faults.status = 403;
  await assert.rejects(loadModel(url(), options), { code: 'network' });
  await assert.rejects(loadModel('http://127.0.0.1:9/x.gguf', options), { code: 'network' });
});

test('without a cache nothing is kept', async (context) => {
  const usual = process.env.TMPDIR;
  const temporary = (process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'tulle-temporary-')));  // others have files beside
  context.after(() => {
    if (usual === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = usual;
    rmSync(temporary, { recursive: true });
  });
  server.faults.cutAfter = 60_000;
  await loadsWell(url(), { cache: false });
  const controller = new AbortController();
  const onProgress = ({ phase }) => phase === 'load' && controller.abort();
  const ended = loadModel(url(), { ...options, cache: false, signal: controller.signal, onProgress });
  await assert.rejects(ended, { name: 'AbortError' });
  assert.deepEqual(readdirSync(cache), []);
  assert.deepEqual(readdirSync(temporary), []);
});

test('loads at once, in this process and in another, download once', async () => {
  server.faults.chunkDelayMs = 5;
  const program = `
    import { loadModel } from 'tulle';
    const model = await loadModel(${JSON.stringify(url())}, ${JSON.stringify(options)});
    console.log(model.info.layers);`;
  const other = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: new URL('..', import.meta.url),
  });
  await Promise.all([loadsWell(), loadsWell()]);
  assert.equal((await other).stdout, '2\n');
  assert.equal(server.modelRequests().length, 1);
  assert.deepEqual(cached('.lock'), []);
});

test('a load that is ended leaves no lock behind, also one that its thread could not give back', async () => {
  server.faults.chunkDelayMs = 20;
  const controller = new AbortController();
  const onProgress = ({ loadedBytes }) => {
    if (loadedBytes < 20_000 || controller.signal.aborted) return;
    copyFileSync(cached('.lock')[0], join(cache, 'held.lock'));
    controller.abort();
  };
  await assert.rejects(loadModel(url(), { ...options, signal: controller.signal, onProgress }), { name: 'AbortError' });
  for (let tries = 0; cached('.lock').length > 0 && tries < 500; ++tries) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.deepEqual(cached('.lock'), []);
});

test("a lock of a process that has ended is nobody's", async () => {
  await loadsWell();
  const { pid } = await new Promise((resolve) => {
    const child = execFile(process.execPath, ['--eval', '']);
    child.on('exit', () => resolve(child));
  });
  writeFileSync(`${dataFile()}.lock`, String(pid));
  await loadsWell();
});

test("a lock of an earlier process that had this one's number is nobody's", async () => {
  await loadsWell();
  writeFileSync(`${dataFile()}.lock`, `${process.pid} 1 another-boot/1234`);
  await loadsWell(url(), { signal: AbortSignal.timeout(10_000) });
});

test("a lock without an owner, as a full disk leaves it, is nobody's after a while", async () => {
  await loadsWell();
  const lock = `${dataFile()}.lock`;
  writeFileSync(lock, '');
  utimesSync(lock, 0, 0);
  await loadsWell(url(), { signal: AbortSignal.timeout(10_000) });
});

test('a cache that is no folder is nothing to a model that lies here', async () => {
  const file = join(cache, 'file');
  writeFileSync(file, '');
  await (await loadModel(tiny.path, { threads: 1, cache: file })).dispose();
  await assert.rejects(loadModel(url(), { threads: 1, cache: file }), { code: 'io' });
});

test('a directory asks for no files but those that are read here', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tulle-test-'));
  const shards = await serve({ '/': folder });
  copyFileSync(`${facts('llama-tiny-gqa').path}/config.json`, join(folder, 'config.json'));
  writeFileSync(join(folder, 'pytorch_model.bin'), 'a pickle');
  await assert.rejects(loadModel(`${shards.url}/`, options), { code: 'unsupported' });
  assert.ok(!shards.requests.some(({ path }) => path.includes('pytorch')));
  for (const name of ['http://127.0.0.1:9/x', '//127.0.0.1:9/x', '../x', 'x?y', '']) {
    rmSync(cache, { recursive: true });
    writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: { a: name } }));
    await assert.rejects(loadModel(`${shards.url}/`, options), { code: 'malformed' });
  }
  await shards.close();
  rmSync(folder, { recursive: true });
});

test('a Hugging Face directory is loaded by its URL, and then without a server', async () => {
  const { prompt, greedy } = facts('llama-tiny-gqa');
  const directory = `${server.url}/models/llama-tiny-gqa/`;
  for (const fromCache of [false, true]) {
    const model = keep(await loadModel(directory, options));
    const { tokens } = await model.generate(prompt, { maxNewTokens: greedy.length, ignoreEos: true }).result;
    assert.deepEqual([...tokens], greedy);
    assert.equal(model.runtime.fromCache, fromCache);
    server.faults.status = 500;
  }
});

test('one file in pieces, from several URLs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tulle-test-'));
  const bytes = readFileSync(tiny.path);
  writeFileSync(join(folder, 'a.gguf'), bytes.subarray(0, 50_000));
  writeFileSync(join(folder, 'b.gguf'), bytes.subarray(50_000));
  const pieces = await serve({ '/': folder });
  await loadsWell([`${pieces.url}/a.gguf`, `${pieces.url}/b.gguf`]);
  await pieces.close();
  rmSync(folder, { recursive: true });
});
