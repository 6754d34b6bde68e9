// SPDX-License-Identifier: Apache-2.0
// Calls into a worker, as promises.
import { messageOf, TulleError, type TulleErrorCode } from './error.js';
import type { CallName, Calls, FromWorker, WorkerEvent, WorkerLike } from './protocol.js';

interface Pending {
  resolve(answer: unknown): void;
  reject(reason: unknown): void;
  onEvent: ((event: WorkerEvent) => void) | undefined;
  stop(reason: unknown): void;
}

interface CallOptions {
  readonly transfer?: readonly Transferable[];
  readonly onEvent?: (event: WorkerEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Rejects at once after an abort, and with what `onEvent` throws; both ask the worker to end the call. */
export interface Answer<Value> extends Promise<Value> {
  /** Asks the worker to end the call; what it answers then is the answer. */
  cancel(): void;
  /** Settles when the worker has answered. */
  readonly done: Promise<Value>;
}

export class Channel {
  readonly #worker: WorkerLike;
  readonly #pending = new Map<number, Pending>();
  #next = 1;
  #closed: TulleError | undefined;

  constructor(worker: WorkerLike) {
    this.#worker = worker;
    worker.listen(
      (message) => this.#receive(message),
      (reason) => this.close(new TulleError('internal', `the worker of the engine failed: ${reason}`)),
    );
    worker.hold(false);
  }

  /** Errors: invalid_argument for an argument that cannot be sent, such as a function; else those of the call. */
  call<Name extends CallName>(
    name: Name,
    argument: Calls[Name]['argument'],
    { transfer = [], onEvent, signal }: CallOptions = {},
  ): Answer<Calls[Name]['answer']> {
    const id = this.#next++;
    const cancel = () => {
      if (this.#pending.has(id)) this.#worker.post({ cancel: id }, []);
    };
    let stop: Pending['stop'] = () => {};
    const stopped = new Promise<never>((_, reject) => {
      stop = (reason) => {
        cancel();
        reject(reason);
      };
    });
    const done = new Promise<Calls[Name]['answer']>((resolve, reject) => {
      if (this.#closed) return reject(this.#closed);
      try {
        this.#worker.post({ id, call: name, argument }, transfer);
      } catch (error) {
        throw new TulleError('invalid_argument', `an argument cannot be sent to the worker: ${messageOf(error)}`);
      }
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject, onEvent, stop });
      this.#worker.hold(true);
    });
    const abort = () => stop(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const answer = Promise.race([done, stopped]).finally(() => signal?.removeEventListener('abort', abort));
    return Object.assign(answer, { cancel, done });
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Ends the worker; everything that waits, and everything called later, fails with `reason`. */
  close(reason: TulleError): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#worker.terminate();
    for (const pending of this.#pending.values()) pending.reject(reason);
    this.#pending.clear();
  }

  #receive(message: FromWorker): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    if ('event' in message) {
      try {
        return pending.onEvent?.(message.event);
      } catch (error) {
        pending.onEvent = undefined;
        return pending.stop(error);
      }
    }
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#worker.hold(false);
    if ('answer' in message) return pending.resolve(message.answer);
    pending.reject(new TulleError(message.failure.code as TulleErrorCode, message.failure.message));
  }
}
