// SPDX-License-Identifier: Apache-2.0
// Puts the modules that wasm/native has built (in the folder TULLE_WASM, by default build/wasm/dist/wasm of the
// repository) beside the compiled sources, compressed, and the licence into the package.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const wasm = dirname(dirname(fileURLToPath(import.meta.url)));
const from = process.env.TULLE_WASM ?? join(wasm, '..', 'build', 'wasm', 'dist', 'wasm');
const to = join(wasm, 'dist', 'wasm');
mkdirSync(to, { recursive: true });

function read(name) {
  const path = join(from, name);
  if (!existsSync(path)) throw new Error(`${path} is missing; build the modules first (wasm/README.md)`);
  return readFileSync(path);
}

/** Emscripten's glue without what bundlers stumble over: imports of Node's modules, and a file that nobody fetches. */
function glueOf(name) {
  let glue = read(`${name}.mjs`).toString();
  const replace = (what, by) => {
    if (!glue.includes(what)) throw new Error(`${name}.mjs has no ${what}; was it made by another Emscripten?`);
    glue = glue.replaceAll(what, by);
  };
  replace('await import("module")', 'process.getBuiltinModule("module")');
  replace(`new URL("${name}.wasm",import.meta.url).href`, '""');
  if (!name.endsWith('-threads')) return glue;
  replace("(await import('worker_threads'))", "process.getBuiltinModule('worker_threads')");
  // Bundlers need the options where they are used.
  const options = /var workerOptions=(\{[^}]*\});/.exec(glue)?.[1];
  replace(
    `new URL("${name}.mjs",import.meta.url),workerOptions)`,
    `new URL("./${name}.mjs",import.meta.url),${options})`,
  );
  return glue;
}

for (const suffix of ['', '-threads']) {
  // Only the name of the .wasm differs between instruction sets, and that is given at run time.
  const [glue, other] = ['simd128', 'relaxed'].map((variant) => glueOf(`tulle-${variant}${suffix}`));
  if (other.replaceAll('tulle-relaxed', 'tulle-simd128') !== glue) {
    throw new Error(`the glue of tulle-simd128${suffix} and tulle-relaxed${suffix} differs`);
  }
  writeFileSync(join(to, `tulle-simd128${suffix}.mjs`), glue);
  for (const variant of ['simd128', 'relaxed']) {
    const name = `tulle-${variant}${suffix}.wasm`;
    writeFileSync(join(to, `${name}.gz`), gzipSync(read(name), { level: 9 }));
  }
}
copyFileSync(join(wasm, '..', 'LICENSE'), join(wasm, 'LICENSE'));
