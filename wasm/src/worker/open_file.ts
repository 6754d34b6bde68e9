// SPDX-License-Identifier: Apache-2.0
// Files that the engine reads at any place while it loads.
import { messageOf, TulleError } from '../error.js';
import type { StoredFile } from '../storage/storage.js';

export interface OpenFile {
  readonly name: string;
  readonly size: number;
  /** Fills `into`, which may lie in shared memory. Errors: whatever keeps it from being filled. */
  read(into: Uint8Array, offset: number): void;
  close(): void;
}

export function bytesFile(name: string, bytes: Uint8Array): OpenFile {
  return {
    name,
    size: bytes.length,
    read: (into, offset) => into.set(bytes.subarray(offset, offset + into.length)),
    close() {},
  };
}

export function storedFile(name: string, file: StoredFile): OpenFile {
  return {
    name,
    size: file.size(),
    read(into, offset) {
      const count = file.read(into, offset);
      if (count !== into.length) throw new TulleError('evicted', `${name} became shorter while it was read`);
    },
    close: () => file.close(),
  };
}

// Only workers have it, so TypeScript's library of pages does not declare it.
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** A File or Blob of a browser, wherever that keeps it. */
export function blobFile(name: string, blob: Blob): OpenFile {
  const reader = new FileReaderSync();
  return {
    name,
    size: blob.size,
    read(into, offset) {
      const step = 1 << 22; // of every read there is a copy
      for (let at = 0; at < into.length; at += step) {
        const end = Math.min(at + step, into.length);
        try {
          into.set(new Uint8Array(reader.readAsArrayBuffer(blob.slice(offset + at, offset + end))), at);
        } catch (error) {
          throw new TulleError('io', `${name} cannot be read; was it changed or moved? ${messageOf(error)}`);
        }
      }
    },
    close() {},
  };
}

/** Pieces that make one file when they are put together. */
export function joinedFile(name: string, pieces: readonly OpenFile[]): OpenFile {
  return {
    name,
    size: pieces.reduce((sum, piece) => sum + piece.size, 0),
    read(into, offset) {
      let begin = 0; // of a piece in the whole
      for (const piece of pieces) {
        const from = Math.max(offset, begin);
        const to = Math.min(offset + into.length, begin + piece.size);
        if (from < to) piece.read(into.subarray(from - offset, to - offset), from - begin);
        begin += piece.size;
      }
    },
    close() {
      for (const piece of pieces) piece.close();
    },
  };
}
