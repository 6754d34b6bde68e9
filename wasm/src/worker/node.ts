// SPDX-License-Identifier: Apache-2.0
// The worker of Node.
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { TulleError } from '../error.js';
import { Folder, openFile } from '../storage/folder.js';
import { download } from './download.js';
import { glue } from './glue.js';
import { bytesFile, type OpenFile, storedFile } from './open_file.js';
import type { WorkerPlatform } from './platform.js';
import { serve } from './service.js';

const port = parentPort!;

/** A file that is gone when it is closed. */
function temporary(file: OpenFile, remove: () => void): OpenFile {
  return {
    name: file.name,
    size: file.size,
    read: (into, offset) => file.read(into, offset),
    close() {
      file.close();
      remove();
    },
  };
}

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
    if (file.kind === 'blob') throw new TulleError('internal', 'a Blob comes as a path here');
    const opened = storedFile(file.name, openFile(file.path));
    return file.temporary ? temporary(opened, () => rmSync(file.path, { force: true })) : opened;
  },
  openStorage: async (folder) => new Folder(folder),
  async fetchFile(name, url, signal, report) {
    const path = mkdtempSync(join(tmpdir(), 'tulle-'));
    const remove = () => rmSync(path, { recursive: true, force: true });
    try {
      await download(new Folder(path), 'file', url, { signal, report });
      return temporary(storedFile(name, openFile(join(path, 'file'))), remove);
    } catch (error) {
      remove();
      throw error;
    }
  },
};

serve(platform);
