// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vite';

/** What makes a page cross-origin isolated: only such a page may use threads. */
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

/** Writes the service worker with the list of all files that were built. */
function serviceWorker(): Plugin {
  let outDir = '';
  return {
    name: 'service-worker',
    apply: 'build',
    configResolved: (config) => void (outDir = resolve(config.root, config.build.outDir)),
    closeBundle() {
      const files = readdirSync(outDir, { recursive: true }).map((name) => join(outDir, String(name)));
      const kept = files.filter((file) => statSync(file).isFile() && !file.endsWith('service_worker.js')).sort();
      const hash = createHash('sha256');
      for (const file of kept) hash.update(readFileSync(file));
      const names = ['./', ...kept.map((file) => './' + relative(outDir, file))];
      const source = readFileSync(new URL('service_worker.js', import.meta.url), 'utf8')
        .replace('/* files */ []', JSON.stringify(names))
        .replace('/* version */ 0', `'${hash.digest('hex').slice(0, 12)}'`);
      writeFileSync(join(outDir, 'service_worker.js'), source);
    },
  };
}

export default defineConfig({
  base: './',
  resolve: { alias: { tulle: new URL('../dist/index.js', import.meta.url).pathname } },
  server: { headers },
  preview: { headers },
  plugins: [serviceWorker()],
});
