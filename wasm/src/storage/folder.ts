// SPDX-License-Identifier: Apache-2.0
// A folder of the file system, in Node.
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
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
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { messageOf, TulleError } from '../error.js';
import type { Storage, StoredFile } from './storage.js';

/** Where a file can lie for a while. */
export function temporaryPath(): string {
  return join(tmpdir(), `tulle-${process.pid}-${randomUUID()}`);
}

export function openFile(path: string, flags: 'r' | 'r+' = 'r'): StoredFile {
  return descriptorFile(openSync(path, flags));
}

export function descriptorFile(descriptor: number): StoredFile {
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

  /** A lock is a file that says whose it is, `owner` below; that of a process that has ended is stale. */
  async locked<Result>(name: string, signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
    try {
      accessSync(this.#path, constants.W_OK);
    } catch {
      return action(); // nobody downloads into a folder that cannot be written
    }
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
  let names: string[];
  try {
    names = readdirSync(path);
  } catch {
    return; // no folder, or one that holds no lock of ours
  }
  for (const name of names.filter((each) => each.endsWith('.lock'))) {
    const lock = join(path, name);
    try {
      if (readFileSync(lock, 'utf8') === owner(thread)) rmSync(lock, { force: true });
    } catch {
      // It was given back meanwhile.
    }
  }
}

/** Process, thread, and when the process started: a container's first process always has the number 1. */
function owner(thread: number): string {
  return `${process.pid} ${thread} ${startOf(process.pid)}`;
}

/** The machine's boot, and clock ticks since then; empty where there is no /proc, or it does not show the process. */
function startOf(pid: number): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!; // from field 3 on
    return `${boot}/${afterName.split(' ')[22 - 3]}`;
  } catch {
    return '';
  }
}

function take(path: string): boolean {
  try {
    writeFileSync(path, owner(threadId), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      return named(() => {
        throw error;
      });
    }
  }
  try {
    const [pid, , start] = readFileSync(path, 'utf8').split(' ');
    // One without an owner is of a full disk, or of a machine that went down, unless it is being written.
    const isStale = Number(pid) > 0 ? !isAlive(Number(pid), start) : Date.now() - statSync(path).mtimeMs > 5000;
    if (isStale) rmSync(path, { force: true });
  } catch {
    // It was given back meanwhile.
  }
  return false;
}

/** Whether the process runs that started at `start`, not a later one of the same number. */
function isAlive(pid: number, start: string | undefined): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const found = startOf(pid);
  return found === '' || found === start;
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
