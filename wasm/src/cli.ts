#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// npx tulle generate MODEL PROMPT [OPTION...]
import { parseArgs } from 'node:util';
import { TulleError } from './error.js';
import { loadModel } from './index.node.js';
import type { GenerateOptions, LoadProgress } from './types.js';

const usage = `usage: tulle generate MODEL PROMPT [OPTION...]

MODEL is a GGUF file, a Hugging Face directory, or the URL of one (which is kept).

  --chat                 the prompt is a user's message, for the model's chat template
  --max-new-tokens N     default 100
  --temperature X        default 0, which is greedy
  --top-p X  --top-k N  --min-p X  --repetition-penalty X  --seed N  --stop TEXT
  --draft-model ngram    guesses tokens that follow what was there before: faster where a text repeats its prompt,
                         with the same text; --spec-length N: tokens of a guess, default 7
  --threads N            default half of the cores, at most 4
  --assembly NAME        KERNEL[/CACHE], such as dense_i8/paged_i8; default auto
  --timings              says at the end how long it took

example: tulle generate model.gguf "Once upon a time" --max-new-tokens 64`;

const numbers = {
  'max-new-tokens': 'maxNewTokens',
  temperature: 'temperature',
  'top-p': 'topP',
  'top-k': 'topK',
  'min-p': 'minP',
  'repetition-penalty': 'repetitionPenalty',
  seed: 'seed',
  'spec-length': 'specLength',
} as const;

function read() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  return parseArgs({
    allowPositionals: true,
    options: {
      ...(Object.fromEntries(Object.keys(numbers).map((name) => [name, text])) as Record<
        keyof typeof numbers,
        typeof text
      >),
      stop: text,
      'draft-model': text,
      threads: text,
      assembly: text,
      chat: flag,
      timings: flag,
      help: flag,
    },
  });
}

function numberOf(name: string, value: string): number {
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number)) return number;
  throw new TulleError('invalid_argument', `--${name} is "${value}"; give a number`);
}

/** Overwrites its own line, where somebody is looking. */
function show({ phase, what, fraction }: LoadProgress): void {
  if (!process.stderr.isTTY) return;
  const percent = fraction === undefined ? '' : ` ${Math.floor(fraction * 100)} %`;
  process.stderr.write(`\r\x1b[K${phase} ${what}${percent}`);
}

async function main(): Promise<void> {
  const { values, positionals } = read();
  const [command, path, prompt] = positionals;
  if (values.help || command === undefined) return void console.log(usage);
  if (command !== 'generate' || path === undefined || prompt === undefined || positionals.length > 3) {
    throw new TulleError('invalid_argument', `${usage.split('\n')[0]}; --help says more`);
  }
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1)); // | head
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  const options: Record<string, unknown> = { signal: stopped.signal, stop: values.stop, draftModel: values['draft-model'] };
  for (const [name, option] of Object.entries(numbers) as [keyof typeof numbers, keyof GenerateOptions][]) {
    if (values[name] !== undefined) options[option] = numberOf(name, values[name]);
  }
  const model = await loadModel(path, {
    assembly: values.assembly,
    threads: values.threads === undefined ? undefined : numberOf('threads', values.threads),
    onProgress: show,
    signal: stopped.signal,
  });
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  try {
    const generation = model.generate(values.chat ? [{ role: 'user', content: prompt }] : prompt, options);
    for await (const { text } of generation) process.stdout.write(text);
    process.stdout.write('\n');
    if (values.timings) {
      const { timings, usage: used } = await generation.result;
      console.error(
        `prompt: ${used.promptTokens} tokens, ${timings.prefillTokensPerSecond.toFixed(1)} per second; ` +
          `answer: ${used.completionTokens} tokens, ${timings.decodeTokensPerSecond.toFixed(1)} per second; ` +
          (used.draftTokens > 0 ? `drafts: ${used.draftTokens} tokens, ${used.acceptedDraftTokens} accepted; ` : '') +
          `${model.runtime.variant}, threads: ${model.runtime.threads}`,
      );
    }
  } finally {
    await model.dispose();
  }
}

main().catch((error: Error) => {
  if (error.name === 'AbortError') process.exit(130);
  console.error(`tulle: ${error.message}`);
  process.exit(1);
});
