// SPDX-License-Identifier: Apache-2.0
// From a source to files that the engine can read at any place.
import { messageOf, TulleError } from '../error.js';
import type { LoadRequest, WorkerFile, WorkerSource } from '../protocol.js';
import type { LoadProgress } from '../types.js';
import type { Cache } from './cache.js';
import { checkHash, checkNames, expectedHash } from './integrity.js';
import { joinedFile, type OpenFile } from './open_file.js';
import type { WorkerPlatform } from './platform.js';

export interface OpenSource {
  readonly files: readonly OpenFile[];
  /** Whether all of it came from the cache. */
  readonly allCached: boolean;
  close(): void;
}

/** Files of a Hugging Face directory besides its weights; those the server does not have are left out. */
const companions = [
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
];
const indexName = 'model.safetensors.index.json';

/** Opens one source. Errors: those of downloads and of reading files. */
export class SourceOpener {
  readonly #platform: WorkerPlatform;
  readonly #cache: Cache | undefined;
  readonly #integrity: LoadRequest['integrity'];
  readonly #signal: AbortSignal;
  readonly #report: (progress: LoadProgress) => void;
  readonly #urls: string[] = [];
  readonly #opened: OpenFile[] = [];
  #cached = 0;

  constructor(
    platform: WorkerPlatform,
    cache: Cache | undefined,
    integrity: LoadRequest['integrity'],
    signal: AbortSignal,
    report: (progress: LoadProgress) => void,
  ) {
    this.#platform = platform;
    this.#cache = cache;
    this.#integrity = integrity;
    this.#signal = signal;
    this.#report = report;
  }

  async open(source: WorkerSource): Promise<OpenSource> {
    const close = () => this.#opened.splice(0).forEach((file) => file.close());
    try {
      const files = await this.#filesOf(source);
      checkNames(
        this.#integrity,
        files.map(({ name }) => name),
      );
      for (const file of files) await this.#verify(file);
      return {
        files,
        allCached: this.#cached > 0 && this.#cached === this.#urls.length,
        close,
      };
    } catch (error) {
      close();
      throw error;
    }
  }

  /** What was fetched so far, to be dropped when it turns out broken. */
  get urls(): readonly string[] {
    return this.#urls;
  }

  get anyCached(): boolean {
    return this.#cached > 0;
  }

  async #filesOf(source: WorkerSource): Promise<readonly OpenFile[]> {
    switch (source.kind) {
      case 'file':
        return [await this.#file(source.file)];
      case 'directory':
        return this.#all(source.files);
      case 'directory_url':
        return this.#directory(source.url);
      case 'pieces':
        return assembled(await this.#all(source.pieces));
    }
  }

  async #all(files: readonly WorkerFile[]): Promise<OpenFile[]> {
    const opened: OpenFile[] = [];
    for (const file of files) opened.push(await this.#file(file));
    return opened;
  }

  async #file(file: WorkerFile): Promise<OpenFile> {
    const opened = file.kind === 'url' ? await this.#fetch(file.name, file.url) : this.#platform.openLocal(file);
    this.#opened.push(opened);
    return opened;
  }

  async #fetch(name: string, url: string): Promise<OpenFile> {
    const report = (done: number, total?: number) =>
      this.#report({
        phase: 'download',
        what: name,
        fraction: total ? done / total : undefined,
        loadedBytes: done,
        ...(total === undefined ? {} : { totalBytes: total }),
      });
    this.#urls.push(url);
    if (!this.#cache) return this.#platform.fetchFile(name, url, this.#signal, report);
    const { file, downloaded } = await this.#cache.open(name, url, { signal: this.#signal, report });
    if (!downloaded) ++this.#cached;
    return file;
  }

  async #directory(url: string): Promise<readonly OpenFile[]> {
    const known = await this.#cache?.list(url);
    const files: OpenFile[] = [];
    const add = async (name: string) => {
      files.push(await this.#file({ kind: 'url', name, url: new URL(name, url).href }));
      return files.at(-1)!;
    };
    if (known) {
      for (const name of known) await add(name);
      return files;
    }
    const tryAdd = async (name: string) => {
      try {
        return await add(name);
      } catch (error) {
        this.#urls.pop();
        if (error instanceof TulleError && error.code === 'not_found') return undefined;
        throw error;
      }
    };
    await add('config.json');
    const index = await tryAdd(indexName);
    if (index) for (const name of shardsOf(index)) await add(name);
    else if (!(await tryAdd('model.safetensors'))) {
      throw new TulleError('unsupported', `${url} has no model.safetensors, and other weights are not read here`);
    }
    for (const name of companions) await tryAdd(name);
    await this.#cache?.keepList(
      url,
      files.map(({ name }) => name),
    );
    return files;
  }

  async #verify(file: OpenFile): Promise<void> {
    const expected = expectedHash(this.#integrity, file.name);
    if (expected === undefined) return;
    const report = (done: number) =>
      this.#report({
        phase: 'verify',
        what: file.name,
        fraction: done / file.size,
        loadedBytes: done,
        totalBytes: file.size,
      });
    await checkHash(file, expected, report, async () => {
      await this.#platform.pause();
      this.#signal.throwIfAborted();
    });
  }
}

/** The one file that pieces make; or, where each is a GGUF file, all of them: parts of a model, which need names. */
function assembled(pieces: readonly OpenFile[]): readonly OpenFile[] {
  if (!pieces.every(isGguf)) return [joinedFile(pieces[0]!.name, pieces)];
  if (pieces.every(({ name }) => /-\d{5}-of-\d{5}\.gguf$/.test(name))) return pieces;
  const digits = (number: number) => String(number).padStart(5, '0');
  return pieces.map((piece, index) => ({
    ...piece,
    name: `model-${digits(index + 1)}-of-${digits(pieces.length)}.gguf`,
  }));
}

function isGguf(file: OpenFile): boolean {
  const magic = new Uint8Array(4);
  if (file.size >= magic.length) file.read(magic, 0);
  return new TextDecoder().decode(magic) === 'GGUF';
}

function shardsOf(index: OpenFile): string[] {
  const bytes = new Uint8Array(index.size);
  index.read(bytes, 0);
  try {
    const { weight_map: map } = JSON.parse(new TextDecoder().decode(bytes)) as { weight_map: Record<string, string> };
    const names = [...new Set(Object.values(map))].sort();
    if (!names.every((name) => /^[^/\\:?#%]+$/.test(name))) throw new Error('a name is no plain file name');
    return names;
  } catch (error) {
    throw new TulleError('malformed', `${index.name} lists no files: ${messageOf(error)}`);
  }
}
