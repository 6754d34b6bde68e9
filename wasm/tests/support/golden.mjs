// SPDX-License-Identifier: Apache-2.0
// The contract that every binding keeps (tests/golden/README.md).
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

export const goldenFolder = fileURLToPath(new URL('../../../tests/golden/', import.meta.url));

export function facts(name, assembly = '') {
  const path = goldenFolder + 'models/' + name;
  const file = name.endsWith('.gguf') ? path.replace(/\.gguf$/, '.golden.json') : path + '/golden.json';
  const { tokens, greedy, greedy_prompt_tokens: count } = JSON.parse(readFileSync(file, 'utf8'));
  return { name, assembly, path, prompt: tokens.slice(0, count), greedy, tokens };
}

export function contract() {
  const lines = readFileSync(goldenFolder + 'contract.txt', 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => facts(...line.split(' ')));
}

/** The path of a copy of a model's directory with a sentencepiece tokenizer, until the tests of the file are done. */
export function withTokenizer(model, tokenizer) {
  const folder = mkdtempSync(join(tmpdir(), 'tulle-'));
  after(() => rmSync(folder, { recursive: true }));
  for (const name of ['config.json', 'model.safetensors']) {
    copyFileSync(join(goldenFolder, 'models', model, name), join(folder, name));
  }
  copyFileSync(join(goldenFolder, 'tokenizers', tokenizer, 'tokenizer.model'), join(folder, 'tokenizer.model'));
  return folder;
}

/** The first texts of the corpus, and the ids that the tokenizer's own library has for each. */
export function tokenized(tokenizer) {
  const corpus = readFileSync(goldenFolder + 'tokenizers/corpus.bin');
  const lines = readFileSync(`${goldenFolder}tokenizers/${tokenizer}/ids.txt`, 'utf8').split('\n').slice(0, -1);
  let at = 0;
  return lines.map((line) => {
    const begin = at + 4;
    at = begin + corpus.readUInt32LE(at);
    return { text: corpus.toString('utf8', begin, at), ids: line === '' ? [] : line.split(' ').map(Number) };
  });
}

/** A model with a tokenizer, for tests of text; with a context of 256 tokens. */
export const textModel = facts('gguf/q4_1.gguf');

/** The real model that TULLE_TEST_MODEL names, or undefined. */
export const realModel = existsSync(process.env.TULLE_TEST_MODEL ?? '') ? process.env.TULLE_TEST_MODEL : undefined;
