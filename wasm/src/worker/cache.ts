// SPDX-License-Identifier: Apache-2.0
// Files of servers, kept under the hash of their URL.
import { TulleError } from '../error.js';
import { readJson, type Storage, writeJson } from '../storage/storage.js';
import { download, type DownloadOptions, type Entry } from './download.js';
import { hex } from './integrity.js';
import { type OpenFile, storedFile } from './open_file.js';
import { Sha256 } from './sha256.js';

const encoder = new TextEncoder();

export function keyOf(url: string): string {
  return hex(new Sha256().update(encoder.encode(url)).digest()).slice(0, 32);
}

/** A file of the cache while it is used. */
export interface CachedFile {
  readonly file: OpenFile;
  readonly downloaded: boolean;
}

export class Cache {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Opens the file of a URL, downloading what is missing of it. Errors: those of `download`. */
  async open(name: string, url: string, options: DownloadOptions): Promise<CachedFile> {
    const key = keyOf(url);
    const known = await this.#whole(key, name);
    if (known) return { file: known, downloaded: false };
    try {
      await download(this.#storage, key, url, options);
    } catch (error) {
      if (error instanceof TulleError && error.code === 'quota') await this.drop(url); // others need the room
      throw error;
    }
    const file = await this.#whole(key, name);
    if (!file) throw new TulleError('evicted', `${name} was taken away right after its download; load it again`);
    return { file, downloaded: true };
  }

  /** Forgets the file of a URL, and what there is of it. */
  async drop(url: string): Promise<void> {
    for (const suffix of ['', '.part', '.json', '.list.json']) await this.#storage.remove(keyOf(url) + suffix);
  }

  /** Holds a URL for one tab or process. */
  async locked<Result>(url: string, signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
    return this.#storage.locked(keyOf(url), signal, action);
  }

  /** The names of a directory's files, once they were read: without them it could not be opened offline. */
  async list(url: string): Promise<string[] | undefined> {
    return readJson<string[]>(this.#storage, `${keyOf(url)}.list.json`);
  }

  async keepList(url: string, names: readonly string[]): Promise<void> {
    await writeJson(this.#storage, `${keyOf(url)}.list.json`, names);
  }

  async #whole(key: string, name: string): Promise<OpenFile | undefined> {
    const stored = await this.#storage.open(key);
    if (!stored) return undefined;
    const entry = await readJson<Entry>(this.#storage, `${key}.json`);
    if (entry && entry.size === stored.size()) return storedFile(name, stored);
    stored.close();
    await this.#storage.remove(key);
    return undefined;
  }
}
