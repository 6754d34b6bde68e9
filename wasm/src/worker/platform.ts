// SPDX-License-Identifier: Apache-2.0
// The functions that differ between the workers of a page and of Node.
import type { FromWorker, ToWorker, WorkerFile } from '../protocol.js';
import type { Storage } from '../storage/storage.js';
import type { Variant } from '../types.js';
import type { ModuleFactory } from './native_module.js';
import type { OpenFile } from './open_file.js';

export interface WorkerPlatform {
  post(message: FromWorker, transfer: Transferable[]): void;
  listen(onMessage: (message: ToWorker) => void): void;
  /** Lets messages in. */
  pause(): Promise<void>;
  readonly cores: number;
  /** Why there can be only one thread; undefined where there can be more. */
  readonly oneThreadBecause: string | undefined;
  factory(variant: Variant, threaded: boolean): Promise<ModuleFactory>;
  wasm(variant: Variant, threaded: boolean): Promise<Uint8Array>;
  /** A file that is no URL. */
  openLocal(file: Exclude<WorkerFile, { kind: 'url' }>): OpenFile;
  /** Where the cache `folder` is; undefined where there is no storage. */
  openStorage(folder: string): Promise<Storage | undefined>;
  /** The file of a URL that is not to be kept. */
  fetchFile(
    name: string,
    url: string,
    signal: AbortSignal,
    report: (done: number, total?: number) => void,
  ): Promise<OpenFile>;
}
