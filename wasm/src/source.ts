// SPDX-License-Identifier: Apache-2.0
// What a source is, by its type and name.
import { TulleError } from './error.js';
import type { WorkerFile, WorkerSource } from './protocol.js';
import type { FileSource, ModelSource } from './types.js';

/** The last part of a URL's or file's path. */
export function baseName(path: string): string {
  const name = path.split(/[?#]/)[0]!.split(/[/\\]/).pop() || 'model';
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a bare % is allowed in an address
  }
}

/** One file; with the other parts beside it, where it is called like the first that llama.cpp's gguf-split writes. */
export function fileSource(file: WorkerFile): WorkerSource {
  const count = Number(/-00001-of-(\d{5})\.gguf$/.exec(file.name)?.[1] ?? 1);
  const hasNeighbours = file.kind === 'url' || file.kind === 'path';
  if (count < 2 || !hasNeighbours) return { kind: 'file', file };
  const part = (text: string, number: number) =>
    text.replace(/-00001-of-(?=\d{5}\.gguf([?#]|$))/, `-${String(number).padStart(5, '0')}-of-`);
  const pieces = Array.from({ length: count }, (_, index): WorkerFile => {
    const name = part(file.name, index + 1);
    if (file.kind === 'url') return { ...file, name, url: part(file.url, index + 1) };
    return { ...file, name, path: part(file.path, index + 1) };
  });
  return { kind: 'pieces', pieces };
}

export type FileMaker = (source: FileSource, transfer: Transferable[]) => Promise<WorkerFile>;

/** Errors: invalid_argument for an empty array. */
export async function workerSource(
  source: ModelSource,
  fileOf: FileMaker,
): Promise<{ source: WorkerSource; transfer: Transferable[] }> {
  const transfer: Transferable[] = [];
  if (!Array.isArray(source)) {
    return { source: fileSource(await fileOf(source as FileSource, transfer)), transfer };
  }
  const files: WorkerFile[] = [];
  for (const each of source) files.push(await fileOf(each, transfer));
  if (files.length === 0) throw new TulleError('invalid_argument', 'the list of files is empty');
  if (files.length === 1) return { source: { kind: 'file', file: files[0]! }, transfer };
  const isDirectory = files.some(({ name }) => name === 'config.json');
  return { source: isDirectory ? { kind: 'directory', files } : { kind: 'pieces', pieces: files }, transfer };
}

/** The file of anything but a string, a URL or a stream. */
export function localFile(source: Blob | ArrayBuffer | Uint8Array<ArrayBuffer>, transfer: Transferable[]): WorkerFile {
  if (source instanceof Blob) {
    return { kind: 'blob', name: (source as Blob & { name?: string }).name ?? 'model.gguf', blob: source };
  }
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source;
  if (!(bytes instanceof Uint8Array)) {
    throw new TulleError(
      'invalid_argument',
      'the source is no URL, File, Blob, ArrayBuffer, Uint8Array or ReadableStream',
    );
  }
  if (bytes.byteLength === bytes.buffer.byteLength) transfer.push(bytes.buffer);
  return { kind: 'bytes', name: 'model.gguf', bytes };
}
