// SPDX-License-Identifier: Apache-2.0
// The contract that every binding keeps (tests/golden/README.md).
import { existsSync, readFileSync } from 'node:fs';
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

/** A model with a tokenizer, for tests of text; with a context of 256 tokens. */
export const textModel = facts('gguf/q4_1.gguf');

/** The real model that TULLE_TEST_MODEL names, or undefined. */
export const realModel = existsSync(process.env.TULLE_TEST_MODEL ?? '') ? process.env.TULLE_TEST_MODEL : undefined;
