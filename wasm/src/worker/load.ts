// SPDX-License-Identifier: Apache-2.0
// Loading heals: what is broken in the cache is dropped and fetched again, once.
import { TulleError } from '../error.js';
import type { Loaded, LoadRequest, WorkerSource } from '../protocol.js';
import type { LoadProgress, ModelInfo } from '../types.js';
import { Cache } from './cache.js';
import { Engine } from './engine.js';
import { SourceOpener } from './open_source.js';
import type { NativeModule } from './native_module.js';
import type { WorkerPlatform } from './platform.js';
import { chooseVariant } from './variant.js';

export interface LoadedEngine {
  readonly engine: Engine;
  readonly module: NativeModule;
  readonly loaded: Loaded;
}

export async function loadEngine(
  platform: WorkerPlatform,
  request: LoadRequest,
  signal: AbortSignal,
  report: (progress: LoadProgress) => void,
): Promise<LoadedEngine> {
  const begin = performance.now();
  const variant = chooseVariant(request.variant);
  const { threads, threadsNote } = threadsFor(platform, request.threads);
  const [factory, wasmBinary] = await Promise.all([
    platform.factory(variant, threads > 1),
    platform.wasm(variant, threads > 1),
  ]);
  const module = await factory({ wasmBinary, poolSize: threads - 1 });
  const engine = new Engine(module);
  const { info, fromCache } = await loadModel(platform, engine, request, signal, throttled(report));
  return {
    engine,
    module,
    loaded: {
      info,
      runtime: {
        version: engine.version(),
        variant,
        threads,
        fromCache,
        loadMs: performance.now() - begin,
        ...(threadsNote === undefined ? {} : { threadsNote }),
      },
    },
  };
}

function threadsFor(platform: WorkerPlatform, wanted: number | undefined): { threads: number; threadsNote?: string } {
  const threads = wanted ?? Math.min(4, Math.ceil(platform.cores / 2));
  if (threads === 1 || platform.oneThreadBecause === undefined) return { threads };
  return { threads: 1, threadsNote: platform.oneThreadBecause };
}

async function loadModel(
  platform: WorkerPlatform,
  engine: Engine,
  request: LoadRequest,
  signal: AbortSignal,
  report: (progress: LoadProgress) => void,
) {
  const url = firstUrl(request.source);
  const storage = url === undefined || request.cache === null ? undefined : await platform.openStorage(request.cache);
  const cache = storage && new Cache(storage);
  const once = () => openAndLoad(platform, engine, request, cache, signal, report);
  const healing = async () => {
    const first = await once();
    if ('info' in first) return first;
    for (const broken of first.urls) await cache?.drop(broken);
    if (!first.wasCached) throw first.error;
    const second = await once();
    if ('info' in second) return second;
    for (const broken of second.urls) await cache?.drop(broken);
    throw second.error;
  };
  return cache && url !== undefined ? cache.locked(url, signal, healing) : healing();
}

type Outcome =
  | { readonly info: ModelInfo; readonly fromCache: boolean }
  | { readonly error: TulleError; readonly urls: readonly string[]; readonly wasCached: boolean };

/** Codes that a broken file causes. */
const broken: readonly string[] = ['malformed', 'io', 'evicted', 'integrity'];

async function openAndLoad(
  platform: WorkerPlatform,
  engine: Engine,
  request: LoadRequest,
  cache: Cache | undefined,
  signal: AbortSignal,
  report: (progress: LoadProgress) => void,
): Promise<Outcome> {
  const opener = new SourceOpener(platform, cache, request.integrity, signal, report);
  try {
    const source = await opener.open(request.source);
    try {
      const load = (what: string, fraction: number) => report({ phase: 'load', what, fraction });
      return { info: engine.load(source.files, request.assembly, load), fromCache: source.allCached };
    } finally {
      source.close();
    }
  } catch (error) {
    const fromFiles = error instanceof TulleError && broken.includes(error.code);
    if (!fromFiles || opener.urls.length === 0) throw error;
    const directory = request.source.kind === 'directory_url' ? [request.source.url] : [];
    return { error, urls: [...opener.urls, ...directory], wasCached: opener.anyCached };
  }
}

function firstUrl(source: WorkerSource): string | undefined {
  switch (source.kind) {
    case 'directory_url':
      return source.url;
    case 'file':
      return source.file.kind === 'url' ? source.file.url : undefined;
    default: {
      const files = source.kind === 'pieces' ? source.pieces : source.files;
      return files.find((file) => file.kind === 'url')?.url;
    }
  }
}

/** At most 20 reports a second, the first and last of every phase and file among them. */
function throttled(report: (progress: LoadProgress) => void): (progress: LoadProgress) => void {
  let last = 0;
  let what = '';
  return (progress) => {
    const now = performance.now();
    if (progress.what === what && progress.fraction !== 1 && now - last < 50) return;
    last = now;
    what = progress.what;
    report(progress);
  };
}
