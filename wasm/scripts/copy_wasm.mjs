// SPDX-License-Identifier: Apache-2.0
// Puts the modules that wasm/native has built (TULLE_WASM, or build/wasm of the repository) beside the compiled sources,
// and the licence into the package. Emscripten's glue must be the same for both instruction sets: one of each is kept.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wasm = dirname(dirname(fileURLToPath(import.meta.url)));
const from = process.env.TULLE_WASM ?? join(wasm, '..', 'build', 'wasm', 'dist', 'wasm');
const to = join(wasm, 'dist', 'wasm');
mkdirSync(to, { recursive: true });

for (const suffix of ['', '-threads']) {
  const glue = (variant) => {
    const path = join(from, `tulle-${variant}${suffix}.mjs`);
    if (!existsSync(path)) throw new Error(`${path} is missing; build the modules first (wasm/README.md)`);
    return readFileSync(path, 'utf8').replaceAll(`tulle-${variant}${suffix}`, `tulle-simd128${suffix}`);
  };
  if (glue('simd128') !== glue('relaxed')) throw new Error(`the glue of simd128${suffix} and relaxed${suffix} differs`);
  writeFileSync(join(to, `tulle-simd128${suffix}.mjs`), glue('simd128'));
  for (const variant of ['simd128', 'relaxed']) {
    copyFileSync(join(from, `tulle-${variant}${suffix}.wasm`), join(to, `tulle-${variant}${suffix}.wasm`));
  }
}
copyFileSync(join(wasm, '..', 'LICENSE'), join(wasm, 'LICENSE'));
