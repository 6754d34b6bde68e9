// SPDX-License-Identifier: Apache-2.0
// Where downloads are kept: OPFS in a browser, a folder in Node.

/** A file that is read and written at any place, synchronously. */
export interface StoredFile {
  size(): number;
  /** How many bytes were read: fewer at the end. */
  read(into: Uint8Array, offset: number): number;
  write(bytes: Uint8Array, offset: number): void;
  truncate(size: number): void;
  close(): void;
}

export interface Storage {
  /** The file `name`, made when it is not there. Errors: quota, io. */
  create(name: string): Promise<StoredFile>;
  /** The file `name` to read; undefined when it is not there. */
  open(name: string): Promise<StoredFile | undefined>;
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Runs `action` while no other tab or process holds `name`. */
  locked<Result>(name: string, signal: AbortSignal, action: () => Promise<Result>): Promise<Result>;
  /** Bytes that can still be stored; undefined where that is unknown. */
  available(): Promise<number | undefined>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The value of a small JSON file; undefined when it is not there or is not whole. */
export async function readJson<Value>(storage: Storage, name: string): Promise<Value | undefined> {
  const file = await storage.open(name);
  if (!file) return undefined;
  try {
    const bytes = new Uint8Array(file.size());
    file.read(bytes, 0);
    return JSON.parse(decoder.decode(bytes)) as Value;
  } catch {
    return undefined;
  } finally {
    file.close();
  }
}

export async function writeJson(storage: Storage, name: string, value: unknown): Promise<void> {
  const file = await storage.create(name);
  try {
    const bytes = encoder.encode(JSON.stringify(value));
    file.truncate(0);
    file.write(bytes, 0);
  } finally {
    file.close();
  }
}
