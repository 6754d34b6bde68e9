// SPDX-License-Identifier: Apache-2.0
// Prompts and options as they go to the worker.
import { TulleError } from './error.js';
import { tokenIds } from './numbers.js';
import type { GenerateRequest, WorkerPrompt } from './protocol.js';
import type { GenerateOptions, Message, Prompt } from './types.js';

function isMessage(value: unknown): value is Message {
  const message = value as Message | null;
  return typeof message?.role === 'string' && typeof message.content === 'string';
}

/** Errors: invalid_argument for a value that is not a prompt. */
export function promptOf(prompt: Prompt): WorkerPrompt {
  if (typeof prompt === 'string') return { text: prompt };
  if (prompt instanceof Int32Array) return { tokens: prompt };
  if (Array.isArray(prompt)) {
    if (prompt.length > 0 && prompt.every(Number.isInteger)) return { tokens: tokenIds(prompt as number[]) };
    if (prompt.length > 0 && prompt.every(isMessage)) {
      return { messages: (prompt as Message[]).map(({ role, content }) => ({ role, content })) };
    }
  }
  throw new TulleError(
    'invalid_argument',
    'the prompt is neither a text, nor messages such as [{ role: "user", content: "..." }], nor token ids',
  );
}

/** What can be sent: all but the signal and the function. */
export function requestOptions(options: GenerateOptions): GenerateRequest['options'] {
  const { signal: _, onPromptProgress: __, ...rest } = options;
  return rest;
}
