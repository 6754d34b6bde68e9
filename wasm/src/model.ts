// SPDX-License-Identifier: Apache-2.0
// A loaded model.
import './dispose_symbol.js';
import type { Channel } from './channel.js';
import { TulleError } from './error.js';
import { Generation } from './generation.js';
import { tokenIds } from './numbers.js';
import { promptOf, requestOptions } from './prompt.js';
import type { Loaded } from './protocol.js';
import { Session } from './session.js';
import type {
  DecodeOptions,
  EncodeOptions,
  GenerateOptions,
  Message,
  ModelInfo,
  Prompt,
  Runtime,
  SessionOptions,
} from './types.js';

/** A model in a worker of its own, with its tokenizer and chat template. `dispose` frees all of it. */
export class Model implements AsyncDisposable {
  readonly info: ModelInfo;
  readonly runtime: Runtime;
  readonly #channel: Channel;

  /** Of loadModel. */
  constructor(channel: Channel, loaded: Loaded) {
    this.#channel = channel;
    this.info = loaded.info;
    this.runtime = loaded.runtime;
  }

  /**
   * Generates from a text, a conversation or tokens. The beginning that the prompt shares with the call before
   * is not computed again. Calls run one after the other.
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): Generation {
    return new Generation(
      this.#channel,
      { session: 0, prompt: promptOf(prompt), append: false, options: requestOptions(options) },
      options,
    );
  }

  async session(options: SessionOptions = {}): Promise<Session> {
    return new Session(this.#channel, await this.#channel.call('sessionNew', options));
  }

  /** Default: with the tokenizer's tokens around a text. */
  async encode(text: string, options: EncodeOptions = {}): Promise<Int32Array> {
    return this.#channel.call('encode', { text, options });
  }

  async decode(tokens: Int32Array | readonly number[], options: DecodeOptions = {}): Promise<string> {
    return this.#channel.call('decode', { tokens: tokenIds(tokens), options });
  }

  /** The prompt that the model's own chat template makes of messages. */
  async chatPrompt(messages: readonly Message[], options: { addGenerationPrompt?: boolean } = {}): Promise<string> {
    return this.#channel.call('chatPrompt', { messages, addGenerationPrompt: options.addGenerationPrompt ?? true });
  }

  /** The bytes of the engine's memory: weights, keys and values, everything. */
  async memoryBytes(): Promise<number> {
    return this.#channel.call('memory', null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel.close(new TulleError('disposed', 'the model was disposed of; load it again'));
  }

  async dispose(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }
}
