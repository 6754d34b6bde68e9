// SPDX-License-Identifier: Apache-2.0
// The worker of a page.
import { messageOf, TulleError } from '../error.js';
import type { FromWorker, ToWorker } from '../protocol.js';
import { openOpfs } from '../storage/opfs.js';
import { glue } from './glue.js';
import { blobFile, bytesFile, type OpenFile } from './open_file.js';
import type { WorkerPlatform } from './platform.js';
import { serve } from './service.js';

// One literal each, so that bundlers find the files.
const wasmUrls = {
  simd128: new URL('../wasm/tulle-simd128.wasm.gz', import.meta.url),
  relaxed: new URL('../wasm/tulle-relaxed.wasm.gz', import.meta.url),
  simd128Threads: new URL('../wasm/tulle-simd128-threads.wasm.gz', import.meta.url),
  relaxedThreads: new URL('../wasm/tulle-relaxed-threads.wasm.gz', import.meta.url),
};

/** Some servers decompress files that they recognise as compressed. */
async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const breath = new MessageChannel();

const platform: WorkerPlatform = {
  post: (message: FromWorker, transfer) => self.postMessage(message, { transfer }),
  listen: (onMessage) => (self.onmessage = (event: MessageEvent<ToWorker>) => onMessage(event.data)),
  pause: () =>
    new Promise((resolve) => {
      breath.port1.onmessage = () => resolve();
      breath.port2.postMessage(null);
    }),
  cores: navigator.hardwareConcurrency || 1,
  oneThreadBecause: self.crossOriginIsolated
    ? undefined
    : 'the page is not cross-origin isolated; serve it with Cross-Origin-Opener-Policy: same-origin and ' +
      'Cross-Origin-Embedder-Policy: require-corp',
  factory: async (_variant, threaded) => glue(threaded),
  async wasm(variant, threaded) {
    const url = wasmUrls[threaded ? (`${variant}Threads` as const) : variant];
    const response = await fetch(url);
    if (!response.ok) throw new TulleError('network', `${url}: the server answered with status ${response.status}`);
    return unpacked(new Uint8Array(await response.arrayBuffer()));
  },
  openLocal(file): OpenFile {
    if (file.kind === 'bytes') return bytesFile(file.name, file.bytes);
    if (file.kind === 'blob') return blobFile(file.name, file.blob);
    throw new TulleError('unsupported', 'a browser opens no paths; give a File');
  },
  openStorage: openOpfs,
  async fetchFile(name, url, signal, report) {
    const lost = (error: unknown): never => {
      signal.throwIfAborted();
      throw new TulleError('network', `${url} cannot be downloaded: ${messageOf(error)}`);
    };
    const response = await fetch(url, { signal }).catch(lost);
    if (!response.ok || !response.body) {
      const code = response.status === 404 || response.status === 410 ? 'not_found' : 'network';
      throw new TulleError(code, `${url}: the server answered with status ${response.status}`);
    }
    const total = Number(response.headers.get('Content-Length')) || undefined;
    let done = 0;
    const counted = response.body.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(part, controller) {
          report((done += part.length), total);
          controller.enqueue(part);
        },
      }),
    );
    return blobFile(name, await new Response(counted).blob().catch(lost));
  },
};

serve(platform);
