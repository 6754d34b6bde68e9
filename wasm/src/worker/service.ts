// SPDX-License-Identifier: Apache-2.0
// Answers the calls of a page, one after the other.
import { messageOf, TulleError } from '../error.js';
import type { CallName, Calls, GenerateRequest, ToWorker } from '../protocol.js';
import type { SessionOptions } from '../types.js';
import type { Engine } from './engine.js';
import { firstPace, generate } from './generate.js';
import { type LoadedEngine, loadEngine } from './load.js';
import type { WorkerPlatform } from './platform.js';

type Handlers = {
  [Name in CallName]: (argument: Calls[Name]['argument'], id: number) => Promise<Calls[Name]['answer']>;
};

/** Calls of the tokenizer may run between two tokens; all others are queued. */
const atOnce: readonly CallName[] = ['memory', 'encode', 'decode', 'chatPrompt'];

export function serve(platform: WorkerPlatform): void {
  const service = new Service(platform);
  platform.listen((message) => service.receive(message));
}

class Service {
  readonly #platform: WorkerPlatform;
  readonly #aborts = new Map<number, AbortController>();
  readonly #sessions = new Map<number, number>(); // the page's numbers, the engine's handles
  #turn: Promise<unknown> = Promise.resolve();
  #loaded: LoadedEngine | undefined;
  #nextSession = 1;
  readonly #pace = { ...firstPace };
  #sequenceLength: number | undefined;

  constructor(platform: WorkerPlatform) {
    this.#platform = platform;
  }

  receive(message: ToWorker): void {
    if ('cancel' in message) {
      this.#aborts.get(message.cancel)?.abort();
      return;
    }
    const { id, call, argument } = message;
    this.#aborts.set(id, new AbortController());
    const run = () => this.#answer(id, call, argument);
    if (atOnce.includes(call)) void run();
    else this.#turn = this.#turn.then(run);
  }

  async #answer(id: number, call: CallName, argument: unknown): Promise<void> {
    try {
      const answer = await (this.#handlers[call] as (argument: unknown, id: number) => Promise<unknown>)(argument, id);
      const buffer = (answer as Uint8Array | null)?.buffer;
      this.#platform.post({ id, answer }, buffer instanceof ArrayBuffer ? [buffer] : []);
    } catch (error) {
      const code = error instanceof TulleError ? error.code : this.#signal(id).aborted ? 'cancelled' : 'internal';
      this.#platform.post({ id, failure: { code, message: messageOf(error) } }, []);
    } finally {
      this.#aborts.delete(id);
    }
  }

  readonly #handlers: Handlers = {
    load: async (request, id) => {
      this.#sequenceLength = request.sequenceLength;
      this.#loaded = await loadEngine(this.#platform, request, this.#signal(id), (progress) =>
        this.#platform.post({ id, event: { progress } }, []),
      );
      return this.#loaded.loaded;
    },
    memory: async () => this.#engine.memoryBytes(),
    encode: async ({ text, options }) => this.#engine.encode(text, options),
    decode: async ({ tokens, options }) => this.#engine.decode(tokens, options),
    chatPrompt: async ({ messages, addGenerationPrompt }) => this.#engine.chatPrompt(messages, addGenerationPrompt),
    generate: (request, id) => this.#generate(request, id),
    sessionNew: async (options) => this.#keep(await this.#newSession(options)),
    sessionFree: async (session) => {
      this.#engine.sessionFree(this.#handle(session));
      this.#sessions.delete(session);
      return null;
    },
    sessionFork: async (session) => {
      await this.#makeHelpers();
      return this.#keep(this.#engine.sessionFork(this.#handle(session)));
    },
    sessionHistory: async (session) => this.#engine.history(this.#handle(session)),
    sessionLogits: async (session) => this.#engine.logits(this.#handle(session)),
    sessionTruncate: async ({ session, length }) => {
      this.#engine.truncate(this.#handle(session), length);
      return null;
    },
    sessionSave: async (session) => this.#engine.save(this.#handle(session)),
    sessionRestore: async ({ session, bytes }) => {
      this.#engine.restore(this.#handle(session), bytes);
      return null;
    },
  };

  async #generate(request: GenerateRequest, id: number) {
    if (request.session === 0 && !this.#sessions.has(0)) this.#sessions.set(0, await this.#newSession({}));
    const signal = this.#signal(id);
    const breathing = {
      pause: () => this.#platform.pause(),
      pace: this.#pace,
      get stopped() {
        return signal.aborted;
      },
    };
    return generate(
      this.#engine,
      this.#handle(request.session),
      request,
      breathing,
      (pieces) => this.#platform.post({ id, event: { pieces } }, []),
      (promptFraction) => this.#platform.post({ id, event: { promptFraction } }, []),
    );
  }

  async #newSession(options: SessionOptions): Promise<number> {
    await this.#makeHelpers();
    const sequenceLength = options.sequenceLength ?? this.#sequenceLength;
    return this.#engine.sessionNew(this.#loaded!.loaded.runtime.threads, { ...options, sequenceLength });
  }

  /** Workers for the threads of one more session: they can only be made while nothing computes. */
  async #makeHelpers(): Promise<void> {
    const { module, loaded } = this.#loadedEngine;
    const pool = module.PThread;
    if (!pool) return;
    for (let missing = loaded.runtime.threads - 1 - pool.unusedWorkers.length; missing > 0; --missing) {
      pool.allocateUnusedWorker();
      await pool.loadWasmModuleToWorker(pool.unusedWorkers.at(-1));
    }
  }

  #keep(handle: number): number {
    this.#sessions.set(this.#nextSession, handle);
    return this.#nextSession++;
  }

  #handle(session: number): number {
    const handle = this.#sessions.get(session);
    if (handle === undefined) throw new TulleError('disposed', 'this session was disposed of; make a new one');
    return handle;
  }

  #signal(id: number): AbortSignal {
    return this.#aborts.get(id)!.signal;
  }

  get #loadedEngine(): LoadedEngine {
    if (!this.#loaded) throw new TulleError('state', 'no model is loaded');
    return this.#loaded;
  }

  get #engine(): Engine {
    return this.#loadedEngine.engine;
  }
}
