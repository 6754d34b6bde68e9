// SPDX-License-Identifier: Apache-2.0
// The browser's own file system (OPFS), from a worker.
import { messageOf, TulleError } from '../error.js';
import type { Storage, StoredFile } from './storage.js';

// TypeScript's library of pages does not declare the interfaces of workers.
interface SyncAccessHandle {
  getSize(): number;
  read(into: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  flush(): void;
  close(): void;
}
type FileHandle = FileSystemFileHandle & {
  createSyncAccessHandle(): Promise<SyncAccessHandle>;
  move(name: string): Promise<void>;
};

/** Undefined where the browser has none, as in some private windows. */
export async function openOpfs(folder: string): Promise<Storage | undefined> {
  try {
    const root = await navigator.storage.getDirectory();
    return new Opfs(folder, await root.getDirectoryHandle(folder, { create: true }));
  } catch {
    return undefined;
  }
}

export async function clearFolder(folder: string): Promise<void> {
  try {
    const root = await navigator.storage.getDirectory();
    await root.removeEntry(folder, { recursive: true });
  } catch (error) {
    if ((error as DOMException).name === 'NotFoundError') return;
    throw new TulleError('busy', `the cache cannot be deleted while a model is loading: ${messageOf(error)}`);
  }
}

class Opfs implements Storage {
  readonly #name: string;
  readonly #folder: FileSystemDirectoryHandle;

  constructor(name: string, folder: FileSystemDirectoryHandle) {
    this.#name = name;
    this.#folder = folder;
  }

  async create(name: string): Promise<StoredFile> {
    return this.#file(await this.#folder.getFileHandle(name, { create: true }));
  }

  async open(name: string): Promise<StoredFile | undefined> {
    try {
      return await this.#file(await this.#folder.getFileHandle(name));
    } catch (error) {
      if ((error as DOMException).name === 'NotFoundError') return undefined;
      throw error;
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await ((await this.#folder.getFileHandle(from)) as FileHandle).move(to);
  }

  async remove(name: string): Promise<void> {
    try {
      await this.#folder.removeEntry(name);
    } catch (error) {
      if ((error as DOMException).name !== 'NotFoundError') throw error;
    }
  }

  async locked<Result>(name: string, signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
    return navigator.locks.request(`${this.#name}/${name}`, { signal }, action) as Promise<Result>;
  }

  async available(): Promise<number | undefined> {
    const { quota, usage } = await navigator.storage.estimate();
    return quota === undefined || usage === undefined ? undefined : quota - usage;
  }

  async #file(handle: FileSystemFileHandle): Promise<StoredFile> {
    const file = await (handle as FileHandle).createSyncAccessHandle();
    return {
      size: () => file.getSize(),
      read: (into, offset) => named(() => file.read(into, { at: offset })),
      write(bytes, offset) {
        for (let done = 0; done < bytes.length;) {
          const written = named(() => file.write(bytes.subarray(done), { at: offset + done }));
          // Chromium does not throw when the storage is full, but gives back an error number.
          if (!(written > 0 && written <= bytes.length - done)) throw new TulleError('quota', full);
          done += written;
        }
      },
      truncate: (size) => named(() => file.truncate(size)),
      close: () => file.close(),
    };
  }
}

const full = 'the browser gives this site no more storage; delete models or pass cache: false';

/** Names what the browser does to a site's storage. */
function named<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    const { name } = error as DOMException;
    if (name === 'QuotaExceededError') {
      throw new TulleError('quota', full);
    }
    if (name === 'NotFoundError' || name === 'InvalidStateError') {
      throw new TulleError('evicted', 'the browser took the stored model away while it was read; load it again');
    }
    throw new TulleError('io', `the browser's storage failed: ${messageOf(error)}`);
  }
}
