// SPDX-License-Identifier: Apache-2.0
// A file from a server into the storage, going on where it was cut.
import { messageOf, TulleError } from '../error.js';
import { readJson, type Storage, type StoredFile, writeJson } from '../storage/storage.js';

/** Facts about a file that is stored whole or in part. */
export interface Entry {
  readonly url: string;
  /** undefined until the server reports it. */
  readonly size: number | undefined;
  /** An ETag or a date; without one a download cannot go on. */
  readonly validator: string | undefined;
}

export interface DownloadOptions {
  readonly signal: AbortSignal;
  report(done: number, total: number | undefined): void;
}

const tries = 5; // in a row without a new byte

/** Makes `key` and `key.json` in the storage. Errors: network, not_found, quota. */
export async function download(storage: Storage, key: string, url: string, options: DownloadOptions): Promise<void> {
  const part = `${key}.part`;
  const file = await storage.create(part);
  try {
    for (let failures = 0, most = file.size(); ;) {
      try {
        if (await transfer(storage, key, url, file, options)) break;
      } catch (error) {
        if (error instanceof TulleError || options.signal.aborted) throw error;
        failures = file.size() > most ? 1 : failures + 1;
        most = Math.max(most, file.size());
        if (failures >= tries) {
          throw new TulleError('network', `${url} cannot be downloaded (${messageOf(error)}); loading again goes on`);
        }
        await pause(100 * 2 ** failures, options.signal);
      }
    }
  } finally {
    file.close();
  }
  await storage.rename(part, key);
}

/** One request. True when the file is whole; throws when the connection broke. */
async function transfer(
  storage: Storage,
  key: string,
  url: string,
  file: StoredFile,
  { signal, report }: DownloadOptions,
): Promise<boolean> {
  let entry = await readJson<Entry>(storage, `${key}.json`);
  if (!entry?.validator || entry.url !== url) file.truncate(0);
  const have = file.size();
  const headers: Record<string, string> = {};
  if (have > 0) {
    headers.Range = `bytes=${have}-`;
    // Another origin would have to allow this header; there, the answer's validator is compared instead.
    if (isSameOrigin(url)) headers['If-Range'] = entry!.validator!;
  }
  const response = await fetch(url, { headers, signal, cache: 'no-store' });
  const continues = response.status === 206;
  if (continues && !isRest(response, have, entry)) {
    await response.body?.cancel();
    file.truncate(0);
    return false;
  }
  if (response.status === 416) {
    if (entry?.size === have) return true;
    file.truncate(0);
    return false;
  }
  if (!response.ok || !response.body) throw refusal(url, response.status);
  if (!continues) {
    file.truncate(0);
    entry = { url, size: sizeOf(response), validator: validatorOf(response) };
    await checkSpace(storage, entry);
    await writeJson(storage, `${key}.json`, entry);
  }
  let done = file.size();
  report(done, entry?.size);
  for (const reader = response.body.getReader(); ;) {
    const { done: ended, value } = await reader.read();
    if (ended) break;
    file.write(value, done);
    done += value.length;
    report(done, entry?.size);
  }
  if (entry?.size === undefined) await writeJson(storage, `${key}.json`, { ...entry, size: done });
  else if (done < entry.size) throw new Error(`the connection ended after ${done} of ${entry.size} bytes`);
  else if (done > entry.size) throw refusal(url, 'more bytes than it announced');
  return true;
}

function refusal(url: string, status: number | string): Error {
  if (status === 404 || status === 410) return new TulleError('not_found', `${url}: the server has no such file`);
  const text = typeof status === 'number' ? `status ${status}` : status;
  if (typeof status === 'number' && status >= 500) return new Error(text); // may pass
  return new TulleError('network', `${url}: the server answered with ${text}`);
}

/** Whether an answer of status 206 is the rest of what is here. */
function isRest(response: Response, have: number, entry: Entry | undefined): boolean {
  const range = /^bytes (\d+)-/.exec(response.headers.get('Content-Range') ?? '');
  if (range && Number(range[1]) !== have) return false; // another origin may hide this header
  return validatorOf(response) === entry?.validator;
}

/** undefined where the length is that of a compressed answer. */
function sizeOf(response: Response): number | undefined {
  const length = response.headers.get('Content-Length');
  return length === null || response.headers.has('Content-Encoding') ? undefined : Number(length);
}

/** A strong ETag, else the date. */
function validatorOf(response: Response): string | undefined {
  const tag = response.headers.get('ETag');
  return tag && !tag.startsWith('W/') ? tag : (response.headers.get('Last-Modified') ?? undefined);
}

function isSameOrigin(url: string): boolean {
  return typeof location === 'undefined' || new URL(url).origin === location.origin;
}

async function checkSpace(storage: Storage, { url, size }: Entry): Promise<void> {
  const available = await storage.available();
  if (size === undefined || available === undefined || size <= available) return;
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
  throw new TulleError(
    'quota',
    `${url} needs ${megabytes(size)} and ${megabytes(available)} can be stored here; delete other models or files`,
  );
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
  signal.throwIfAborted();
}
