// SPDX-License-Identifier: Apache-2.0
// A folder of the file system, in Node.
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { messageOf, TulleError } from '../error.js';
import type { Storage, StoredFile } from './storage.js';

export function openFile(path: string, flags: 'r' | 'r+' = 'r'): StoredFile {
  const descriptor = openSync(path, flags);
  return {
    size: () => fstatSync(descriptor).size,
    read(into, offset) {
      let done = 0;
      while (done < into.length) {
        const count = readSync(descriptor, into, done, into.length - done, offset + done);
        if (count === 0) break;
        done += count;
      }
      return done;
    },
    write(bytes, offset) {
      for (let done = 0; done < bytes.length;) {
        done += named(() => writeSync(descriptor, bytes, done, bytes.length - done, offset + done));
      }
    },
    truncate: (size) => ftruncateSync(descriptor, size),
    close: () => closeSync(descriptor),
  };
}

export class Folder implements Storage {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    named(() => mkdirSync(path, { recursive: true }));
  }

  async create(name: string): Promise<StoredFile> {
    const path = join(this.#path, name);
    named(() => closeSync(openSync(path, 'a')));
    return openFile(path, 'r+');
  }

  async open(name: string): Promise<StoredFile | undefined> {
    const path = join(this.#path, name);
    return existsSync(path) ? openFile(path) : undefined;
  }

  async rename(from: string, to: string): Promise<void> {
    renameSync(join(this.#path, from), join(this.#path, to));
  }

  async remove(name: string): Promise<void> {
    rmSync(join(this.#path, name), { force: true });
  }

  /** A lock is a file that says whose it is, `owner` below; that of a process that has ended is nobody's. */
  async locked<Result>(name: string, signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
    const path = join(this.#path, `${name}.lock`);
    while (!take(path)) await wait(50, undefined, { signal });
    try {
      return await action();
    } finally {
      rmSync(path, { force: true });
    }
  }

  async available(): Promise<number | undefined> {
    const { bavail, bsize } = statfsSync(this.#path);
    return bavail * bsize;
  }
}

/** Takes the locks from a thread of this process that was ended while it held them. */
export function releaseLocks(path: string, thread: number): void {
  if (!existsSync(path)) return;
  for (const name of readdirSync(path).filter((each) => each.endsWith('.lock'))) {
    const lock = join(path, name);
    try {
      if (readFileSync(lock, 'utf8') === owner(thread)) rmSync(lock, { force: true });
    } catch {
      // It was given back meanwhile.
    }
  }
}

function owner(thread: number): string {
  return `${process.pid} ${thread}`;
}

function take(path: string): boolean {
  try {
    writeFileSync(path, owner(threadId), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  try {
    const pid = Number.parseInt(readFileSync(path, 'utf8'), 10);
    if (pid > 0 && !isAlive(pid)) rmSync(path, { force: true });
  } catch {
    // It was given back meanwhile.
  }
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function named<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new TulleError('quota', `the disk of the cache is full: ${messageOf(error)}`);
    }
    throw new TulleError('io', `the cache cannot be written: ${messageOf(error)}`);
  }
}
