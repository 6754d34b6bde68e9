// SPDX-License-Identifier: Apache-2.0
// A loopback server of files with Range and ETag, whose faults can be chosen.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

/**
 * Serves folders: { '/prefix/': folder }. `faults` may be changed at any time:
 *   cutAfter     ends every answer for a .gguf or .safetensors after so many bytes
 *   ignoreRange, allowOrigin, etag (in place of the content's), noValidator, status, delayMs, chunkDelayMs
 * `requests` lists what was asked for: { method, path, range, ifRange, status }.
 */
export async function serve(folders, { isolated = false } = {}) {
  const faults = {};
  const requests = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://x').pathname);
    const headers = isolated
      ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
      : {};
    const file = fileOf(folders, path);
    if (faults.allowOrigin) {
      headers['Access-Control-Allow-Origin'] = faults.allowOrigin;
      headers['Access-Control-Expose-Headers'] = 'ETag';
    }
    const isModel = /\.(gguf|safetensors)$/.test(path);
    const asked = {
      method: request.method,
      path,
      range: request.headers.range,
      ifRange: request.headers['if-range'],
      status: 404,
    };
    requests.push(asked);
    if (!file || (isModel && faults.status)) {
      asked.status = faults.status ?? 404;
      response.writeHead(asked.status, headers).end();
      return;
    }
    const { size } = statSync(file);
    const etag = faults.etag ?? `"${createHash('sha1').update(readFileSync(file)).digest('hex')}"`;
    Object.assign(headers, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' });
    if (!faults.noValidator) headers.ETag = etag;
    let start = 0;
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
    const fresh = !request.headers['if-range'] || request.headers['if-range'] === etag;
    asked.status = 200;
    if (range && fresh && !faults.ignoreRange) {
      start = Number(range[1]);
      if (start >= size) {
        asked.status = 416;
        response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
        return;
      }
      asked.status = 206;
      headers['Content-Range'] = `bytes ${start}-${size - 1}/${size}`;
    }
    headers['Content-Length'] = size - start;
    response.writeHead(asked.status, headers);
    const cut = isModel && faults.cutAfter !== undefined ? start + faults.cutAfter : size;
    if (cut <= start) return void response.destroy();
    const stream = createReadStream(file, { start, end: Math.min(cut, size) - 1, highWaterMark: 16384 });
    for await (const part of stream) {
      if (response.destroyed) return;
      response.write(part);
      if (isModel && faults.chunkDelayMs) await new Promise((resolve) => setTimeout(resolve, faults.chunkDelayMs));
    }
    if (cut < size) setTimeout(() => response.destroy(), 500); // a busy browser drops what it has not yet read
    else response.end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    faults,
    requests,
    modelRequests: () => requests.filter(({ path }) => /\.(gguf|safetensors)$/.test(path)),
    reset() {
      for (const name of Object.keys(faults)) delete faults[name];
      requests.length = 0;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function fileOf(folders, path) {
  const prefix = Object.keys(folders)
    .sort((a, b) => b.length - a.length)
    .find((each) => path.startsWith(each));
  if (prefix === undefined) return undefined;
  let file = join(folders[prefix], normalize(path.slice(prefix.length)));
  if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
  return existsSync(file) ? file : undefined;
}
