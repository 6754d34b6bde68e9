// SPDX-License-Identifier: Apache-2.0
// The package in a browser.
import { load, type Platform } from './load.js';
import type { Model } from './model.js';
import type { FromWorker, WorkerLike } from './protocol.js';
import { baseName, localFile, workerSource } from './source.js';
import { clearFolder } from './storage/opfs.js';
import type { FileSource, LoadOptions, ModelSource } from './types.js';

export * from './public.js';

const defaultCache = 'tulle-models';

const browser: Platform = {
  defaultCache,
  createWorker(): WorkerLike {
    const worker = new Worker(new URL('./worker/browser.js', import.meta.url), { type: 'module', name: 'tulle' });
    return {
      post: (message, transfer) => worker.postMessage(message, [...transfer]),
      listen(onMessage, onFailure) {
        worker.onmessage = (event: MessageEvent<FromWorker>) => onMessage(event.data);
        worker.onerror = (event) => onFailure(event.message || 'its script cannot be loaded');
        worker.onmessageerror = () => onFailure('a message cannot be read');
      },
      hold() {},
      terminate: () => worker.terminate(),
    };
  },
  async prepare(source, { signal }) {
    if (isUrl(source)) {
      const url = new URL(source, base()).href;
      if (new URL(url).pathname.endsWith('/')) return { source: { kind: 'directory_url', url }, transfer: [] };
    }
    return workerSource(source, (each, transfer) => fileOf(each, transfer, signal));
  },
};

/** What relative addresses are relative to: the page, or the worker's own address. */
const base = () => globalThis.document?.baseURI ?? location.href;

function isUrl(source: unknown): source is string | URL {
  return typeof source === 'string' || source instanceof URL;
}

async function fileOf(source: FileSource, transfer: Transferable[], signal?: AbortSignal) {
  if (isUrl(source)) {
    const url = new URL(source, base()).href;
    return { kind: 'url', name: baseName(url), url } as const;
  }
  // The browser may keep a blob on disk, and a worker can read any part of it.
  if (source instanceof ReadableStream) {
    const stream = source.pipeThrough(new TransformStream(), signal ? { signal } : {});
    return localFile(await new Response(stream).blob(), transfer);
  }
  return localFile(source, transfer);
}

/** Loads a model into a worker of its own. */
export function loadModel(source: ModelSource, options: LoadOptions = {}): Promise<Model> {
  return load(browser, source, options);
}

/** Deletes what loads have kept. */
export async function clearCache(cache: string = defaultCache): Promise<void> {
  await clearFolder(cache);
}
