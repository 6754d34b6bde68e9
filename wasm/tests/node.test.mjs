// SPDX-License-Identifier: Apache-2.0
// The package in Node: sources, generation, sessions, stopping.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, openAsBlob, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { loadModel, TulleError } from 'tulle';
import { keep } from './support/dispose.mjs';
import { contract, facts, goldenFolder, textModel, tokenized, withTokenizer } from './support/golden.mjs';

const tiny = facts('gguf/q8_0.gguf');
const greedy = { maxNewTokens: tiny.greedy.length, ignoreEos: true };
const one = { threads: 1 };

async function tokensOf(model, prompt, options) {
  return [...(await model.generate(prompt, options).result).tokens];
}

for (const { name, assembly, path, prompt, greedy: expected } of contract()) {
  test(`${name} as ${assembly} gives the golden tokens`, async () => {
    const model = keep(await loadModel(path, { ...one, assembly, sequenceLength: 128 }));
    assert.deepEqual(await tokensOf(model, prompt, { maxNewTokens: expected.length, ignoreEos: true }), expected);
  });
}

test('drafts change no text', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const prompt = [...tiny.prompt, ...tiny.greedy, ...tiny.prompt]; // copies begin at once
  for (const chance of [{}, { temperature: 0.9, seed: 5 }, { temperature: 0.3, seed: 6, repetitionPenalty: 1.2 }]) {
    const options = { maxNewTokens: 60, ignoreEos: true, ...chance };
    const plain = await tokensOf(model, prompt, options);
    for (const specLength of [undefined, 1, 16]) {
      const session = keep(await model.session());
      assert.deepEqual(await tokensOf(session, prompt, { ...options, draftModel: 'ngram', specLength }), plain);
    }
    assert.deepEqual(await tokensOf(model, prompt, { ...options, draftModel: 'ngram' }), plain);
    assert.deepEqual(await tokensOf(model, prompt, options), plain);
  }
  for (const draftModel of [undefined, 'ngram']) {
    const { usage } = await model.generate(prompt, { maxNewTokens: 60, ignoreEos: true, draftModel }).result;
    assert.equal(usage.draftTokens > 0, draftModel !== undefined);
    assert.ok(usage.acceptedDraftTokens <= usage.draftTokens);
  }
  await assert.rejects(tokensOf(model, prompt, { draftModel: 'self:i4' }), { code: 'unsupported', message: /"ngram" alone/ });
  for (const specLength of [65, 1.5, -1]) {
    await assert.rejects(tokensOf(model, prompt, { draftModel: 'ngram', specLength }), { code: 'invalid_argument' });
  }
});

test('sparse int8 gives the bits of dense int8', async () => {
  const { path, prompt } = facts('llama-tiny-int8');
  const logitsOf = async (assembly) => {
    const model = keep(await loadModel(path, { ...one, assembly }));
    const session = keep(await model.session());
    await session.generate(prompt, { ...greedy, keepLogits: true }).result;
    return session.logits();
  };
  const dense = await logitsOf('dense_i8');
  for (const assembly of ['i8', 'bitmask_i8']) assert.deepEqual(await logitsOf(assembly), dense, assembly);
});

test('every kind of source gives the same model', async () => {
  const bytes = readFileSync(tiny.path);
  const copy = () => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const third = Math.ceil(bytes.length / 3);
  const pieces = [0, 1, 2].map((index) => new Blob([bytes.subarray(index * third, (index + 1) * third)]));
  const sources = {
    path: tiny.path,
    'file: URL': pathToFileURL(tiny.path),
    Blob: await openAsBlob(tiny.path),
    File: new File([bytes], 'tiny.gguf'),
    ArrayBuffer: copy(),
    Uint8Array: new Uint8Array(copy()),
    ReadableStream: new Blob([bytes]).stream(),
    pieces,
  };
  let expected;
  for (const [kind, source] of Object.entries(sources)) {
    const model = keep(await loadModel(source, one));
    const tokens = await tokensOf(model, tiny.prompt, greedy);
    expected ??= tokens;
    assert.deepEqual(tokens, expected, kind);
  }
});

for (const tokenizer of ['spm-bpe', 'spm-unigram', 'spm-bpe-map', 'spm-unigram-bare']) {
  test(`a directory with the sentencepiece model ${tokenizer} has the golden ids`, async () => {
    const model = keep(await loadModel(withTokenizer('llama-tiny-tied', tokenizer), one));
    for (const { text, ids } of tokenized(tokenizer)) {
      const options = { addSpecialTokens: false, plainText: true };
      assert.deepEqual([...(await model.encode(text, options))], ids, JSON.stringify(text));
    }
  });
}

test('a model in parts loads by its first part, by its folder, and from all parts with and without names', async () => {
  const folder = goldenFolder + 'models/gguf-parts/';
  const names = [1, 2, 3].map((number) => `q8_0-0000${number}-of-00003.gguf`);
  const parts = names.map((name) => readFileSync(folder + name));
  const sources = {
    'the first': folder + names[0],
    folder,
    paths: names.map((name) => folder + name).reverse(),
    Files: parts.map((bytes, index) => new File([bytes], names[index])).reverse(),
    Blobs: parts.map((bytes) => new Blob([bytes])),
    bytes: parts.map((bytes) => new Uint8Array(bytes)),
  };
  for (const [kind, source] of Object.entries(sources)) {
    const model = keep(await loadModel(source, { ...one, assembly: 'dense_f32' }));
    assert.deepEqual(await tokensOf(model, tiny.prompt, greedy), tiny.greedy, kind);
  }
});

test('parts that do not make a model say which are missing', async () => {
  const folder = goldenFolder + 'models/gguf-parts/';
  const part = (number) => folder + `q8_0-0000${number}-of-00003.gguf`;
  const alone = join(mkdtempSync(join(tmpdir(), 'tulle-test-')), 'q8_0-00001-of-00003.gguf');
  copyFileSync(part(1), alone);
  await assert.rejects(loadModel(alone, one), { code: 'not_found', message: /q8_0-00002-of-00003\.gguf/ });
  await assert.rejects(loadModel([part(1), part(3)], one), { code: 'not_found', message: /q8_0-00002-of-00003\.gguf/ });
  await assert.rejects(loadModel(part(2), one), { code: 'invalid_argument', message: /part 2 of 3.*q8_0-00001/ });
  rmSync(dirname(alone), { recursive: true });
});

test('an ArrayBuffer is given away, not copied', async () => {
  const buffer = readFileSync(tiny.path).buffer.slice(0);
  const bytes = new Uint8Array(readFileSync(tiny.path)).buffer;
  const model = keep(await loadModel(bytes, one));
  assert.equal(bytes.byteLength, 0);
  assert.ok(buffer.byteLength > 0 && model.info.layers > 0);
});

test('what is no model is an error that says so', async () => {
  await assert.rejects(
    loadModel('/no/such/model.gguf'),
    (error) => error instanceof TulleError && error.code === 'not_found',
  );
  await assert.rejects(loadModel(new ArrayBuffer(64), one), (error) => error instanceof TulleError);
  await assert.rejects(loadModel(tiny.path, { ...one, assembly: 'nonsense' }), { code: 'invalid_argument' });
  await assert.rejects(loadModel(tiny.path, { threads: 0 }), { code: 'invalid_argument' });
  await assert.rejects(loadModel([]), { code: 'invalid_argument' });
  await assert.rejects(loadModel(42), { code: 'invalid_argument' });
});

test('a text is generated in pieces, as a whole, as a stream', async () => {
  const model = keep(await loadModel(textModel.path, one));
  const prompt = 'Once upon a time';
  const options = { maxNewTokens: 24, ignoreEos: true };
  const whole = await model.generate(prompt, options).result;
  assert.equal(whole.finishReason, 'length');
  assert.equal(whole.usage.completionTokens, 24);
  assert.equal(whole.tokens.length, 24);
  assert.ok(whole.timings.prefillMs > 0 && whole.timings.decodeMs > 0);
  let pieces = '';
  const generation = model.generate(prompt, options);
  for await (const { text, token } of generation) {
    pieces += text;
    assert.ok(Number.isInteger(token));
  }
  assert.equal(pieces, whole.text);
  assert.equal(await generation.text(), whole.text, 'after it was iterated');
  let streamed = '';
  for await (const text of model.generate(prompt, options).toReadableStream()) streamed += text;
  assert.equal(streamed, whole.text);
});

test('the second call reads only what is new of its prompt', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const { usage: first } = await model.generate(tiny.prompt, greedy).result;
  assert.deepEqual(first, {
    promptTokens: 8,
    cachedTokens: 0,
    completionTokens: 32,
    draftTokens: 0,
    acceptedDraftTokens: 0,
  });
  const again = await model.generate([...tiny.prompt, ...tiny.greedy.slice(0, 4), 7], greedy).result;
  assert.deepEqual([again.usage.promptTokens, again.usage.cachedTokens], [13, 12]);
  const fresh = keep(await loadModel(tiny.path, one));
  const expected = await fresh.generate([...tiny.prompt, ...tiny.greedy.slice(0, 4), 7], greedy).result;
  assert.deepEqual(again.tokens, expected.tokens);
});

test('the same seed draws the same tokens, another seed others', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const draw = (seed) => tokensOf(model, tiny.prompt, { ...greedy, temperature: 2, topP: 0.99, seed });
  const first = await draw(7);
  assert.deepEqual(await draw(7n), first);
  assert.notDeepEqual(await draw(8), first);
  assert.deepEqual(await tokensOf(model, tiny.prompt, { ...greedy, temperature: 0 }), tiny.greedy);
  await assert.rejects(draw(1.5), { code: 'invalid_argument' });
});

test('a text ends before a stop string', async () => {
  const model = keep(await loadModel(textModel.path, one));
  const whole = await model.generate('Once upon a time', { maxNewTokens: 40, ignoreEos: true }).text();
  const stop = [...whole].slice(5, 8).join('');
  const result = await model.generate('Once upon a time', { maxNewTokens: 40, ignoreEos: true, stop }).result;
  assert.equal(result.finishReason, 'stop');
  assert.equal(result.text, whole.slice(0, whole.indexOf(stop)));
});

test('tokenizer and chat template', async () => {
  const model = keep(await loadModel(textModel.path, one));
  const golden = JSON.parse(readFileSync(textModel.path.replace('.gguf', '.golden.json'), 'utf8'));
  for (const { text, ids, decoded } of golden.texts) {
    assert.deepEqual([...(await model.encode(text))], ids, text);
    assert.equal(await model.decode(ids), decoded ?? text);
  }
  const messages = [{ role: 'user', content: 'Hi' }];
  const prompt = await model.chatPrompt(messages);
  assert.ok(prompt.includes('Hi'));
  const chat = await model.generate(messages, { maxNewTokens: 4, ignoreEos: true }).result;
  const tokens = await model.encode(prompt, { addSpecialTokens: false });
  assert.deepEqual([...chat.tokens], await tokensOf(model, tokens, { maxNewTokens: 4, ignoreEos: true }));
  assert.throws(() => model.generate(42), { code: 'invalid_argument' });
});

test('a byte order mark is text like any other', async () => {
  const model = keep(await loadModel(textModel.path, one));
  const text = '\uFEFFhello';
  assert.equal(await model.decode(await model.encode(text, { addSpecialTokens: false })), text);
  const prompt = await model.chatPrompt([{ role: 'user', content: text }]);
  assert.ok(prompt.includes(text));
});

test('a number that does not fit is refused, not another one', async () => {
  const model = keep(await loadModel(textModel.path, one));
  const session = keep(await model.session());
  await session.generate([5, 6, 7], { maxNewTokens: 2, ignoreEos: true }).result;
  const before = await session.history();
  const beyond = 2 ** 32 + 1;
  const refused = [];
  for (const length of [NaN, -1, 1.5, beyond, '1', undefined]) refused.push(() => session.truncate(length));
  for (const option of ['maxNewTokens', 'minNewTokens', 'topK', 'noRepeatNgram', 'seed']) {
    for (const value of [NaN, 1.5, 2 ** 70]) refused.push(() => session.generate([5], { [option]: value }).result);
  }
  const penalties = ['repetitionPenalty', 'presencePenalty', 'frequencyPenalty'];
  for (const option of ['temperature', 'topP', 'minP', 'typicalP', ...penalties]) {
    refused.push(() => session.generate([5], { [option]: NaN }).result);
  }
  for (const options of [
    { maxNewTokens: -1 },
    { seed: 2n ** 64n },
    { minNewTokens: beyond },
    { topK: beyond },
    { eos: [beyond] },
    { draftModel: 'ngram', specLength: beyond },
  ]) {
    refused.push(() => session.generate([5], options).result);
  }
  refused.push(async () => session.generate([beyond + 4]));
  for (const id of [beyond, NaN]) refused.push(() => model.decode([id]));
  for (const option of ['sequenceLength', 'window', 'sinks']) {
    for (const value of [NaN, -1, 1.5]) refused.push(() => model.session({ cache: 'sliding', [option]: value }));
  }
  refused.push(() => loadModel(tiny.path, { sequenceLength: 2 ** 70 }));
  for (const call of refused) await assert.rejects(call, { code: 'invalid_argument' }, String(call));
  assert.deepEqual(await session.history(), before);
});

test('a session goes on, forgets, forks and comes back', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const session = keep(await model.session({ sequenceLength: 100 }));
  await session.generate(tiny.prompt, { ...greedy, maxNewTokens: 3, keepLogits: true }).result;
  const logits = await session.logits();
  assert.equal(logits.length, model.info.vocabulary);
  assert.equal(logits.indexOf(Math.max(...logits)), tiny.greedy[2]);
  const saved = await session.save();
  const fork = keep(await session.fork());
  assert.deepEqual(
    await tokensOf(session, [tiny.greedy[2]].slice(1), { ...greedy, maxNewTokens: 5 }).catch((error) => error.code),
    'invalid_argument',
  );
  await session.truncate(5);
  assert.deepEqual([...(await session.history())], tiny.prompt.slice(0, 5));
  assert.deepEqual([...(await fork.history())], [...tiny.prompt, ...tiny.greedy.slice(0, 3)]);
  await session.restore(saved);
  assert.deepEqual(await session.history(), await fork.history());
  await assert.rejects(session.restore(new Uint8Array(3)), { code: 'malformed' });
  await session.dispose();
  await assert.rejects(session.history(), { code: 'disposed' });
});

test('a long prompt is read with reports', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const fractions = [];
  const long = Int32Array.from({ length: 200 }, (_, i) => 5 + (i % 200));
  await model.generate(long, { maxNewTokens: 2, onPromptProgress: (fraction) => fractions.push(fraction) }).text();
  assert.ok(fractions.length > 1 && fractions.at(-1) === 1, fractions.join());
  assert.deepEqual(fractions, [...fractions].sort((a, b) => a - b));
});

test('leaving the loop, stop() and an abort end a generation; the model goes on', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const long = { maxNewTokens: 240, ignoreEos: true };
  const left = model.generate(tiny.prompt, long);
  for await (const _ of left) break;
  assert.equal((await left.result).finishReason, 'cancelled');

  const controller = new AbortController();
  const aborted = model.generate(tiny.prompt, { ...long, signal: controller.signal });
  await assert.rejects(
    async () => {
      for await (const _ of aborted) controller.abort();
    },
    { name: 'AbortError' },
  );
  await assert.rejects(aborted.result, { name: 'AbortError' });
  await assert.rejects(model.generate(tiny.prompt, { signal: AbortSignal.abort() }).text(), { name: 'AbortError' });

  const reader = model.generate(tiny.prompt, long).toReadableStream().getReader();
  await reader.read();
  await reader.cancel();
  assert.deepEqual(await tokensOf(model, tiny.prompt, greedy), tiny.greedy);
});

test('a text that is stopped has what a stop string held back', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const whole = await model.generate('Once upon a time', { maxNewTokens: 240, ignoreEos: true }).text();
  const stop = `${whole.slice(0, -1)}\u2603`; // begins like the text, which is held back to its end
  const held = model.generate('Once upon a time', { maxNewTokens: 240, ignoreEos: true, stop });
  for await (const _ of held) held.stop();
  const { text, tokens, finishReason } = await held.result;
  assert.equal(finishReason, 'cancelled');
  assert.ok(text.length > 0 && whole.startsWith(text), text);
  assert.equal(text, await model.decode(tokens, { skipSpecialTokens: true }));
});

test('a prompt that is stopped while it is read is forgotten', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const session = keep(await model.session());
  await session.generate(tiny.prompt, { maxNewTokens: 1 }).result;
  const before = await session.history();
  const reading = session.generate(Array(200).fill(5), greedy);
  reading.stop();
  const result = await reading.result;
  assert.equal(result.finishReason, 'cancelled');
  assert.deepEqual(await session.history(), before);
});

test('a generation that is refused leaves the session as it was', async () => {
  const model = keep(await loadModel(tiny.path, { ...one, sequenceLength: 128 }));
  const session = keep(await model.session());
  await session.generate(tiny.prompt, { maxNewTokens: 1, ignoreEos: true }).result;
  const before = await session.history();
  const long = Array.from({ length: 60 }, (_, index) => index);
  const refused = [
    [long, { temperature: -1 }, 'invalid_argument'],
    [long, { stop: [''] }, 'invalid_argument'],
    [[...long, 1_000_000], {}, 'invalid_argument'],
    [[...long, ...long], {}, 'capacity'],
  ];
  for (const [prompt, options, code] of refused) {
    const fractions = [];
    const onPromptProgress = (fraction) => fractions.push(fraction);
    await assert.rejects(session.generate(prompt, { ...options, onPromptProgress }).result, { code });
    assert.deepEqual(await session.history(), before, code);
    assert.deepEqual(fractions, [], 'nothing of it was read');
  }
  const other = keep(await model.session());
  const expected = await tokensOf(other, [...before, ...long], { maxNewTokens: 8, ignoreEos: true });
  assert.deepEqual(await tokensOf(session, long, { maxNewTokens: 8, ignoreEos: true }), expected);
});

test('slices of a prompt change nothing', async () => {
  const model = keep(await loadModel(tiny.path, one));
  const long = Array.from({ length: 200 }, (_, index) => (index * 37) % 280);
  const whole = await model.generate(long, { ...greedy, keepLogits: true }).result;
  const session = keep(await model.session());
  for (const token of long.slice(0, -1)) await session.generate([token], { maxNewTokens: 0 }).result;
  assert.deepEqual(await tokensOf(session, long.slice(-1), greedy), [...whole.tokens]);
});

test('calls of one model take turns, and disposal ends those that wait', async () => {
  const model = await loadModel(tiny.path, one);
  const [a, b] = await Promise.all([tokensOf(model, tiny.prompt, greedy), tokensOf(model, tiny.prompt, greedy)]);
  assert.deepEqual(a, b);
  const running = model.generate(tiny.prompt, { maxNewTokens: 200, ignoreEos: true }).result;
  await model.dispose();
  await assert.rejects(running, { code: 'disposed' });
  await assert.rejects(model.memoryBytes(), { code: 'disposed' });
  await model.dispose();
});

test('two threads give the bits of one', async () => {
  const logitsOf = async (threads) => {
    const model = keep(await loadModel(tiny.path, { threads }));
    assert.equal(model.runtime.threads, threads);
    const session = keep(await model.session());
    await session.generate(tiny.prompt, { ...greedy, keepLogits: true }).result;
    const other = keep(await session.fork());
    await other.generate([1], { ...greedy, maxNewTokens: 4 }).result;
    return session.logits();
  };
  assert.deepEqual(await logitsOf(2), await logitsOf(1));
});

test('a program ends by itself when nothing is under way', { timeout: 90_000 }, async () => {
  const { spawnSync } = await import('node:child_process');
  const program = `
    import { loadModel } from 'tulle';
    const model = await loadModel(${JSON.stringify(tiny.path)}, { threads: 2 });
    console.log((await model.generate([1, 2], { maxNewTokens: 2, ignoreEos: true }).result).tokens.length);`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: new URL('..', import.meta.url),
    encoding: 'utf8',
    timeout: 75_000,
  });
  assert.deepEqual([stdout, status], ['2\n', 0]);
});

test('a call that cannot be sent is refused, and a program ends by itself after it', { timeout: 90_000 }, async () => {
  const { spawnSync } = await import('node:child_process');
  const program = `
    import { loadModel } from 'tulle';
    const model = await loadModel(${JSON.stringify(tiny.path)}, { threads: 1 });
    await model.generate([1, 2], { onToken() {} }).result.catch(({ code }) => console.log(code));
    await loadModel(${JSON.stringify(tiny.path)}, { assembly() {} }).catch(({ code }) => console.log(code));`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: new URL('..', import.meta.url),
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.deepEqual([stdout, status], ['invalid_argument\ninvalid_argument\n', 0]);
});

test('what onProgress or onPromptProgress throws rejects the call', async () => {
  const mine = new Error('mine');
  const thrower = () => {
    throw mine;
  };
  await assert.rejects(loadModel(tiny.path, { ...one, onProgress: thrower }), mine);
  const model = keep(await loadModel(tiny.path, one));
  await assert.rejects(model.generate(Array(200).fill(5), { onPromptProgress: thrower }).text(), mine);
  assert.deepEqual(await tokensOf(model, tiny.prompt, greedy), tiny.greedy);
});

test('streams and blobs leave nothing in the temporary folder, however loading ends', async () => {
  const { TMPDIR } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'tulle-test-'));
  const blob = new Blob([readFileSync(tiny.path)]);
  const during = [];
  const controller = new AbortController();
  const abort = ({ phase }) => {
    during.push(...readdirSync(folder));
    if (phase === 'load') controller.abort();
  };
  try {
    process.env.TMPDIR = folder;
    const ended = { ...one, signal: controller.signal, onProgress: abort };
    await assert.rejects(loadModel(blob, ended), { name: 'AbortError' });
    await assert.rejects(loadModel(blob, { ...one, variant: 'none' }), TulleError);
    await assert.rejects(loadModel([blob, '/no/such/model.gguf'], one), { code: 'not_found' });
    await assert.rejects(loadModel([blob, new ReadableStream({ pull: () => Promise.reject(new Error('cut')) })], one));
    const endless = new ReadableStream({ pull: () => new Promise(() => {}) });
    const late = new AbortController();
    setTimeout(() => late.abort(), 20);
    await assert.rejects(loadModel(endless, { signal: late.signal }), { name: 'AbortError' });
    keep(await loadModel(blob, one));
    assert.deepEqual([during, readdirSync(folder)], [[], []]);
    if (process.platform !== 'linux') return;
    const open = readdirSync('/proc/self/fd').map((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`);
      } catch {
        return ''; // it was that of this list
      }
    });
    assert.deepEqual(open.filter((path) => path.startsWith(folder)), []);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    rmSync(folder, { recursive: true });
  }
});

test('a Hugging Face directory needs its files only', async () => {
  const { prompt, greedy: expected, path } = facts('llama-tiny-gqa');
  const names = [
    'config.json',
    'generation_config.json',
    'model.safetensors.index.json',
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
  ];
  const files = names.map((name) => new File([readFileSync(`${path}/${name}`)], name));
  const model = keep(await loadModel(files, one));
  assert.deepEqual(await tokensOf(model, prompt, { maxNewTokens: expected.length, ignoreEos: true }), expected);
  await assert.rejects(loadModel([files[0], files[2]], one), (error) => error instanceof TulleError);
  assert.ok(goldenFolder);
});
