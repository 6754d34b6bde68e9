// SPDX-License-Identifier: Apache-2.0
// The C ABI, one function a call.
import { wholeNumber } from '../numbers.js';
import type {
  DecodeOptions,
  EncodeOptions,
  FinishReason,
  GenerateOptions,
  GenerationResult,
  Message,
  ModelInfo,
  Piece,
  SessionOptions,
} from '../types.js';
import { writeGenerateOptions } from './generate_options.js';
import { type Scope, textOf } from './memory.js';
import { NativeCalls } from './native_calls.js';
import type { OpenFile } from './open_file.js';

const end = 31;
const maxSize = 2 ** 32 - 1;
const flags = {
  hasTokenizer: 1,
  hasChatTemplate: 2,
  addSpecialTokens: 1,
  plainText: 2,
  skipSpecialTokens: 4,
  addGenerationPrompt: 1,
};
const finishReasons: readonly (FinishReason | undefined)[] = [undefined, 'stop', 'length', 'capacity', undefined, 'cancelled'];

export class Engine extends NativeCalls {
  #model = 0;
  readonly #drafters = new Map<number, string>(); // of sessions that draft: model and length

  version(): string {
    return this.constant(this.module._tulle_version());
  }

  memoryBytes(): number {
    return this.module.wasmMemory.buffer.byteLength;
  }

  /** Reads and packs a model. Errors: those of the files, else of the C ABI. */
  load(files: readonly OpenFile[], assembly: string, report: (what: string, fraction: number) => void): ModelInfo {
    let failure: unknown;
    this.module.hostRead = (file, offset, address, size) => {
      try {
        files[file]!.read(this.memory.bytes(address, size), offset);
        return 0;
      } catch (error) {
        failure = error;
        return 1;
      }
    };
    this.module.hostProgress = (_context, what, size, fraction) => {
      report(this.memory.text(what, size), fraction);
      return 0;
    };
    try {
      return this.memory.scoped((scope) => {
        const names = scope.struct('tulle_string', files.length);
        const sizes = scope.copy(new Uint8Array(Float64Array.from(files, ({ size }) => size).buffer));
        files.forEach(({ name }, index) => {
          const text = scope.text(name);
          names.at(index).set('data', text.address);
          names.at(index).set('size', text.size);
        });
        const chosen = scope.text(assembly);
        const model = scope.allocate(4);
        this.check(scope, (error) =>
          this.module._tulle_host_load(
            names.address,
            sizes.address,
            files.length,
            chosen.address,
            chosen.size,
            model,
            error,
          ),
        );
        this.#model = this.memory.view().getUint32(model, true);
        return this.#describe(scope);
      });
    } catch (error) {
      throw failure ?? error;
    }
  }

  encode(text: string, { addSpecialTokens = true, plainText = false }: EncodeOptions): Int32Array {
    const chosen = (addSpecialTokens ? flags.addSpecialTokens : 0) | (plainText ? flags.plainText : 0);
    return this.memory.scoped((scope) => {
      const { address, size } = scope.text(text);
      return new Int32Array(
        this.variable(scope, 4, (...out) => this.module._tulle_encode(this.#model, address, size, chosen, ...out)),
      );
    });
  }

  decode(tokens: Int32Array, { skipSpecialTokens = false }: DecodeOptions): string {
    return this.memory.scoped((scope) => {
      const { address, size } = scope.tokens(tokens);
      const text = this.variable(scope, 1, (...out) =>
        this.module._tulle_decode(this.#model, address, size, skipSpecialTokens ? flags.skipSpecialTokens : 0, ...out),
      );
      return textOf(text);
    });
  }

  chatPrompt(messages: readonly Message[], addGenerationPrompt: boolean): string {
    return this.memory.scoped((scope) => {
      const array = scope.struct('tulle_message', messages.length);
      messages.forEach(({ role, content }, index) => {
        array.at(index).set('role', role);
        array.at(index).set('content', content);
      });
      const text = this.variable(scope, 1, (...out) =>
        this.module._tulle_chat_prompt(
          this.#model,
          array.address,
          messages.length,
          addGenerationPrompt ? flags.addGenerationPrompt : 0,
          ...out,
        ),
      );
      return textOf(text);
    });
  }

  sessionNew(threads: number, { sequenceLength = 0, cache = '', window = 0, sinks }: SessionOptions): number {
    return this.memory.scoped((scope) => {
      const options = scope.struct('tulle_session_options');
      this.module._tulle_session_options_init(options.address, options.size);
      options.set('threads', threads);
      options.set('cache', cache);
      options.set('sequence_length', sequenceLength);
      options.set('window', window);
      if (sinks !== undefined) options.set('sinks', sinks);
      return this.handle(scope, (out, error) =>
        this.module._tulle_session_new(this.#model, options.address, out, error),
      );
    });
  }

  sessionFree(session: number): void {
    this.#drafters.delete(session);
    this.module._tulle_session_free(session);
  }

  sessionFork(session: number): number {
    return this.memory.scoped((scope) =>
      this.handle(scope, (out, error) => this.module._tulle_session_fork(session, out, error)),
    );
  }

  history(session: number): Int32Array {
    return this.memory.scoped(
      (scope) =>
        new Int32Array(this.variable(scope, 4, (...out) => this.module._tulle_session_history(session, ...out))),
    );
  }

  logits(session: number): Float32Array {
    return this.memory.scoped(
      (scope) =>
        new Float32Array(this.variable(scope, 4, (...out) => this.module._tulle_session_logits(session, ...out))),
    );
  }

  truncate(session: number, length: number): void {
    wholeNumber('length', length, 0, maxSize);
    this.memory.scoped((scope) =>
      this.check(scope, (error) => this.module._tulle_session_truncate(session, length, error)),
    );
  }

  save(session: number): Uint8Array {
    return this.memory.scoped(
      (scope) => new Uint8Array(this.variable(scope, 1, (...out) => this.module._tulle_session_save(session, ...out))),
    );
  }

  restore(session: number, bytes: Uint8Array): void {
    this.memory.scoped((scope) => {
      const { address, size } = scope.copy(bytes);
      this.check(scope, (error) => this.module._tulle_session_restore(session, address, size, error));
    });
  }

  /** What drafts for the session from now on. A drafter that stays keeps what it measured. */
  draft(session: number, { draftModel, specLength = 0 }: Pick<GenerateOptions, 'draftModel' | 'specLength'>): void {
    const wanted = draftModel ? `${draftModel} ${specLength}` : '';
    if (wanted === (this.#drafters.get(session) ?? '')) return;
    wholeNumber('specLength', specLength, 0, maxSize);
    this.memory.scoped((scope) => {
      const { address, size } = scope.text(draftModel ?? '');
      this.check(scope, (error) => this.module._tulle_session_draft(session, address, size, specLength, error));
    });
    this.#drafters.set(session, wanted);
  }

  /** Appends tokens; `next` then generates. */
  generate(session: number, tokens: Int32Array, options: Omit<GenerateOptions, 'signal'>): void {
    this.memory.scoped((scope) => {
      const { address, size } = scope.tokens(tokens);
      const written = scope.struct('tulle_generate_options');
      this.module._tulle_generate_options_init(written.address, written.size);
      writeGenerateOptions(scope, written, options);
      this.check(scope, (error) =>
        this.module._tulle_session_generate_tokens(session, address, size, written.address, error),
      );
    });
  }

  /** The next piece; undefined after the last one. */
  next(session: number): (Piece & { readonly finishReason: FinishReason | undefined }) | undefined {
    return this.memory.scoped((scope) => {
      const token = scope.struct('tulle_token');
      const status = this.check(scope, (error) => this.module._tulle_session_next(session, token.address, error), end);
      if (status === end) return undefined;
      return {
        text: token.text('text'),
        token: token.number('id'),
        logProbability: token.number('log_probability'),
        finishReason: finishReasons[token.number('finish_reason')],
      };
    });
  }

  /** The next token ends the text. */
  cancel(session: number): void {
    this.module._tulle_session_cancel(session);
  }

  /** Of the last text. */
  drafts(session: number): Pick<GenerationResult['usage'], 'draftTokens' | 'acceptedDraftTokens'> {
    return this.memory.scoped((scope) => {
      const timings = scope.struct('tulle_timings');
      this.check(scope, (error) => this.module._tulle_session_timings(session, timings.address, error));
      return {
        draftTokens: timings.number('draft_tokens'),
        acceptedDraftTokens: timings.number('accepted_draft_tokens'),
      };
    });
  }

  #describe(scope: Scope): ModelInfo {
    const info = scope.struct('tulle_model_info');
    this.check(scope, (error) => this.module._tulle_model_describe(this.#model, info.address, error));
    return {
      weightBytes: info.number('weight_bytes'),
      vocabulary: info.number('vocabulary'),
      tokens: info.number('tokens'),
      contextLength: info.number('context_length'),
      layers: info.number('layers'),
      hidden: info.number('hidden'),
      bos: info.number('bos'),
      eos: info.number('eos'),
      hasTokenizer: (info.number('flags') & flags.hasTokenizer) !== 0,
      hasChatTemplate: (info.number('flags') & flags.hasChatTemplate) !== 0,
    };
  }
}
