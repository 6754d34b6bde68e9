// SPDX-License-Identifier: Apache-2.0
// Options of a generation as the C ABI takes them.
import type { GenerateOptions } from '../types.js';
import type { Scope, Struct } from './memory.js';
import type { FieldName } from './structs.js';

const flagOf = { ignoreEos: 1, noSpecialTokens: 2, showSpecialTokens: 4, logProbabilities: 8, keepLogits: 16 };

type Field = FieldName<'tulle_generate_options'>;
const numbers = {
  maxNewTokens: 'max_new_tokens',
  seed: 'seed',
  temperature: 'temperature',
  topP: 'top_p',
  minP: 'min_p',
  typicalP: 'typical_p',
  repetitionPenalty: 'repetition_penalty',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  topK: 'top_k',
  noRepeatNgram: 'no_repeat_ngram',
  minNewTokens: 'min_new_tokens',
} as const satisfies Partial<Record<keyof GenerateOptions, Field>>;

const ofChance = ['temperature', 'topK', 'topP', 'minP', 'typicalP'] as const;

export function writeGenerateOptions(
  scope: Scope,
  struct: Struct<'tulle_generate_options'>,
  options: Omit<GenerateOptions, 'signal'>,
): void {
  let flags = 0;
  if (options.ignoreEos) flags |= flagOf.ignoreEos;
  if (options.addSpecialTokens === false) flags |= flagOf.noSpecialTokens;
  if (options.skipSpecialTokens === false) flags |= flagOf.showSpecialTokens;
  if (options.logProbabilities) flags |= flagOf.logProbabilities;
  if (options.keepLogits) flags |= flagOf.keepLogits;
  struct.set('flags', flags);
  struct.set('sampler', options.sampler ?? defaultSampler(options));
  for (const [name, field] of Object.entries(numbers) as [keyof typeof numbers, Field][]) {
    const value = options[name];
    if (value !== undefined) struct.set(field, value);
  }
  if (options.eos?.length) {
    const eos = scope.tokens(options.eos);
    struct.set('eos', eos.address);
    struct.set('eos_count', eos.size);
  }
  const stop = typeof options.stop === 'string' ? [options.stop] : (options.stop ?? []);
  if (stop.length === 0) return;
  const strings = scope.struct('tulle_string', stop.length);
  stop.forEach((text, index) => {
    const { address, size } = scope.text(text);
    strings.at(index).set('data', address);
    strings.at(index).set('size', size);
  });
  struct.set('stop', strings.address);
  struct.set('stop_count', stop.length);
}

/** Settings of chance mean that tokens are drawn; a temperature of 0 that they are not. Otherwise the assembly's. */
function defaultSampler(options: Omit<GenerateOptions, 'signal'>): string {
  if (options.temperature === 0) return 'greedy';
  return ofChance.some((name) => options[name] !== undefined) ? 'hugging_face' : '';
}
