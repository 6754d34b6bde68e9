// SPDX-License-Identifier: Apache-2.0
// The package in Node.
import { promises as files } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { TulleError } from './error.js';
import { load, type Platform } from './load.js';
import type { Model } from './model.js';
import type { FromWorker, WorkerFile, WorkerLike } from './protocol.js';
import { releaseLocks, temporaryPath } from './storage/folder.js';
import { baseName, fileSource, localFile, workerSource } from './source.js';
import type { FileSource, LoadOptions, ModelSource } from './types.js';

export * from './public.js';

const defaultCache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tulle', 'wasm');

/** `spooled` gets the files that are to be closed when loading has ended. */
const node = (spooled: files.FileHandle[]): Platform => ({
  defaultCache,
  createWorker(cache): WorkerLike {
    const worker = new Worker(new URL('./worker/node.js', import.meta.url), {
      name: 'tulle',
      execArgv: [], // the program's own may not suit a worker
    });
    const { threadId } = worker; // which it loses when it ends
    return {
      post: (message, transfer) => worker.postMessage(message, transfer as ArrayBuffer[]),
      listen(onMessage, onFailure) {
        worker.on('message', (message: FromWorker) => onMessage(message));
        worker.on('error', (error) => onFailure(String(error)));
        worker.on('exit', () => {
          if (cache !== null) releaseLocks(cache, threadId);
          onFailure('it ended');
        });
      },
      hold: (on) => (on ? worker.ref() : worker.unref()),
      terminate: () => void worker.terminate(),
    };
  },
  async prepare(source, { signal }) {
    const path = localPath(source);
    if (path !== undefined) {
      const stat = await statOf(path);
      if (!stat.isDirectory()) {
        const source = fileSource(pathFile(path));
        if (source.kind === 'pieces') for (const each of source.pieces) if (each.kind === 'path') await statOf(each.path);
        return { source, transfer: [] };
      }
      const names = (await files.readdir(path, { withFileTypes: true })).filter((each) => !each.isDirectory());
      const inside = names.map(({ name }) => pathFile(join(path, name)));
      return { source: { kind: 'directory', files: inside }, transfer: [] };
    }
    if (isUrl(source) && new URL(source).pathname.endsWith('/')) {
      return { source: { kind: 'directory_url', url: new URL(source).href }, transfer: [] };
    }
    return workerSource(source, (each, transfer) => fileOf(each, transfer, spooled, signal));
  },
});

function isUrl(source: unknown): source is string | URL {
  return typeof source === 'string' || source instanceof URL;
}

/** The path that a string or a file: URL names; undefined for anything else. */
function localPath(source: ModelSource): string | undefined {
  if (!isUrl(source) || /^https?:/i.test(String(source))) return undefined;
  return String(source).startsWith('file:') ? fileURLToPath(source) : resolve(String(source));
}

async function statOf(path: string) {
  try {
    return await files.stat(path);
  } catch {
    throw new TulleError('not_found', `${path}: no such file or directory`);
  }
}

function pathFile(path: string): WorkerFile {
  return { kind: 'path', name: basename(path), path };
}

async function fileOf(
  source: FileSource,
  transfer: Transferable[],
  spooled: files.FileHandle[],
  signal?: AbortSignal,
): Promise<WorkerFile> {
  const path = localPath(source);
  if (path !== undefined) {
    await statOf(path);
    return pathFile(path);
  }
  if (isUrl(source)) return { kind: 'url', name: baseName(String(source)), url: new URL(source).href };
  if (source instanceof ReadableStream) return spool(source, 'model.gguf', spooled, signal);
  const file = localFile(source as Blob, transfer);
  return file.kind === 'blob' ? spool(file.blob.stream(), file.name, spooled, signal) : file;
}

/** Streams and blobs go through a file that the engine reads in any order. It has no name: closing it deletes it. */
async function spool(
  stream: ReadableStream,
  name: string,
  spooled: files.FileHandle[],
  signal?: AbortSignal,
): Promise<WorkerFile> {
  const path = temporaryPath();
  const file = await files.open(path, 'wx+');
  spooled.push(file);
  await files.rm(path);
  await files.writeFile(file, Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0], signal && { signal }));
  return { kind: 'descriptor', name, descriptor: file.fd };
}

/** Loads a model into a worker of its own. */
export async function loadModel(source: ModelSource, options: LoadOptions = {}): Promise<Model> {
  const spooled: files.FileHandle[] = [];
  try {
    return await load(node(spooled), source, options);
  } finally {
    for (const file of spooled) await file.close(); // the worker of a load that was ended may still read, to no effect
  }
}

/** Deletes what loads have kept. */
export async function clearCache(cache: string = defaultCache): Promise<void> {
  await files.rm(cache, { recursive: true, force: true });
}
