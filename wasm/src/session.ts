// SPDX-License-Identifier: Apache-2.0
// One growing text, with its keys and values.
import './dispose_symbol.js';
import type { Channel } from './channel.js';
import { TulleError } from './error.js';
import { Generation } from './generation.js';
import { promptOf, requestOptions } from './prompt.js';
import type { GenerateOptions, Prompt } from './types.js';

/**
 * A history of tokens that goes on from call to call. Calls run one after the other; a session that was given up, or
 * whose model was, fails with "disposed".
 */
export class Session implements AsyncDisposable {
  readonly #channel: Channel;
  readonly #id: number;
  #freed = false;

  /** Of Model.session and fork. */
  constructor(channel: Channel, id: number) {
    this.#channel = channel;
    this.#id = id;
  }

  /**
   * Appends a text or tokens and generates. Messages are a whole conversation; the known part is kept. A call that
   * fails leaves nothing of its prompt.
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): Generation {
    const request = promptOf(prompt);
    return new Generation(
      this.#channel,
      { session: this.#use(), prompt: request, append: !('messages' in request), options: requestOptions(options) },
      options,
    );
  }

  /** The logits that the last token was chosen from; the generation must have keepLogits. */
  async logits(): Promise<Float32Array> {
    return this.#channel.call('sessionLogits', this.#use());
  }

  /** Every token so far, prompts and answers. */
  async history(): Promise<Int32Array> {
    return this.#channel.call('sessionHistory', this.#use());
  }

  /** Forgets all but the first `length` tokens; 0 forgets everything. */
  async truncate(length: number): Promise<void> {
    await this.#channel.call('sessionTruncate', { session: this.#use(), length });
  }

  /** History, keys and values as bytes, for a session of the same model and options. */
  async save(): Promise<Uint8Array> {
    return this.#channel.call('sessionSave', this.#use());
  }

  /** Replaces the session's content by the bytes of `save`. */
  async restore(bytes: Uint8Array): Promise<void> {
    await this.#channel.call('sessionRestore', { session: this.#use(), bytes });
  }

  /** An independent copy; nothing is computed again. */
  async fork(): Promise<Session> {
    return new Session(this.#channel, await this.#channel.call('sessionFork', this.#use()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#freed) return;
    this.#freed = true;
    if (!this.#channel.closed) await this.#channel.call('sessionFree', this.#id);
  }

  async dispose(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  #use(): number {
    if (this.#freed) throw new TulleError('disposed', 'this session was disposed of; make a new one');
    return this.#id;
  }
}
