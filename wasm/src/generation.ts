// SPDX-License-Identifier: Apache-2.0
// A text while it is generated.
import type { Channel } from './channel.js';
import type { GenerateRequest } from './protocol.js';
import type { GenerateOptions, GenerationResult, Piece } from './types.js';

/**
 * A running generation. It starts at once; pieces are kept until they are read, so it can be iterated and awaited
 * in any order. Leaving a loop over it ends it, and so does its AbortSignal, also while the prompt is read.
 */
export class Generation implements AsyncIterable<Piece> {
  /** How it ended. Rejects with the signal's reason after an abort, and with what onPromptProgress throws. */
  readonly result: Promise<GenerationResult>;
  readonly #pieces: Piece[] = [];
  readonly #stop: () => void;
  #ended = false;
  #wake: (() => void)[] = [];

  constructor(channel: Channel, request: GenerateRequest, { signal, onPromptProgress }: GenerateOptions) {
    if (signal?.aborted) {
      this.#stop = () => {};
      this.#ended = true;
      this.result = Promise.reject(signal.reason);
    } else {
      const answer = channel.call('generate', request, {
        signal,
        onEvent: (event) => {
          if ('pieces' in event) this.#add(event.pieces);
          else if ('promptFraction' in event && !this.#ended) onPromptProgress?.(event.promptFraction);
        },
      });
      this.#stop = () => answer.cancel();
      this.result = answer;
    }
    const end = () => {
      this.#ended = true;
      this.#wakeAll();
    };
    this.result.then(end, end); // also handles the rejection: no unhandled error when the result is never read
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece, void, undefined> {
    try {
      for (let next = 0; ;) {
        const piece = this.#pieces[next];
        if (piece) {
          ++next;
          yield piece;
        } else if (this.#ended) {
          await this.result; // throws the reason of a failure
          return;
        } else {
          await new Promise<void>((resolve) => this.#wake.push(resolve));
        }
      }
    } finally {
      this.stop();
    }
  }

  /** The whole text, once it has ended. */
  async text(): Promise<string> {
    return (await this.result).text;
  }

  /** Ends it where it is; the result says "cancelled". Nothing happens when it has ended already. */
  stop(): void {
    if (!this.#ended) this.#stop();
  }

  /** The texts of the pieces. Cancelling the stream ends the generation. */
  toReadableStream(): ReadableStream<string> {
    const pieces = this[Symbol.asyncIterator]();
    return new ReadableStream<string>(
      {
        pull: async (controller) => {
          const { done, value } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value.text);
        },
        cancel: async () => {
          this.stop();
          await pieces.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  #add(pieces: readonly Piece[]): void {
    this.#pieces.push(...pieces);
    this.#wakeAll();
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
