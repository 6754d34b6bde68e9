// SPDX-License-Identifier: Apache-2.0
// The worker of Node.
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { TulleError } from '../error.js';
import { descriptorFile, Folder, openFile, temporaryPath } from '../storage/folder.js';
import { download } from './download.js';
import { glue } from './glue.js';
import { bytesFile, storedFile } from './open_file.js';
import type { WorkerPlatform } from './platform.js';
import { serve } from './service.js';

const port = parentPort!;

const platform: WorkerPlatform = {
  post: (message, transfer) => port.postMessage(message, transfer as ArrayBuffer[]),
  listen: (onMessage) => void port.on('message', onMessage),
  pause: () => new Promise((resolve) => setImmediate(resolve)),
  cores: availableParallelism(),
  oneThreadBecause: undefined,
  factory: async (_variant, threaded) => glue(threaded),
  async wasm(variant, threaded) {
    const name = `tulle-${variant}${threaded ? '-threads' : ''}.wasm.gz`;
    return gunzipSync(await readFile(new URL(`../wasm/${name}`, import.meta.url)));
  },
  openLocal(file) {
    if (file.kind === 'bytes') return bytesFile(file.name, file.bytes);
    if (file.kind === 'blob') throw new TulleError('internal', 'a Blob comes as a descriptor here');
    if (file.kind === 'path') return storedFile(file.name, openFile(file.path));
    return storedFile(file.name, { ...descriptorFile(file.descriptor), close() {} }); // loadModel closes it
  },
  openStorage: async (folder) => new Folder(folder),
  async fetchFile(name, url, signal, report) {
    const path = temporaryPath();
    try {
      await download(new Folder(dirname(path)), basename(path), url, { signal, report });
      return storedFile(name, openFile(path));
    } finally {
      for (const suffix of ['', '.part', '.json']) rmSync(path + suffix, { force: true }); // it can be read till closed
    }
  },
};

serve(platform);
