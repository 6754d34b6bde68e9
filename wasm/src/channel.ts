// SPDX-License-Identifier: Apache-2.0
// Calls into a worker, as promises.
import { TulleError, type TulleErrorCode } from './error.js';
import type { CallName, Calls, FromWorker, WorkerEvent, WorkerLike } from './protocol.js';

interface Pending {
  resolve(answer: unknown): void;
  reject(reason: unknown): void;
  onEvent: ((event: WorkerEvent) => void) | undefined;
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

  /** Calls; `cancel` of the answer asks the worker to end it. */
  call<Name extends CallName>(
    name: Name,
    argument: Calls[Name]['argument'],
    options: { transfer?: readonly Transferable[]; onEvent?: (event: WorkerEvent) => void } = {},
  ): Promise<Calls[Name]['answer']> & { cancel(): void } {
    const id = this.#next++;
    const answer = new Promise<Calls[Name]['answer']>((resolve, reject) => {
      if (this.#closed) return reject(this.#closed);
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject, onEvent: options.onEvent });
      this.#worker.hold(true);
      this.#worker.post({ id, call: name, argument }, options.transfer ?? []);
    });
    return Object.assign(answer, {
      cancel: () => {
        if (this.#pending.has(id)) this.#worker.post({ cancel: id }, []);
      },
    });
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
    if ('event' in message) return pending.onEvent?.(message.event);
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#worker.hold(false);
    if ('answer' in message) return pending.resolve(message.answer);
    pending.reject(new TulleError(message.failure.code as TulleErrorCode, message.failure.message));
  }
}
