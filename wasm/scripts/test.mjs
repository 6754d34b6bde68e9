// SPDX-License-Identifier: Apache-2.0
// Every test in the machine's own Node, and those of Node alone in Node 24 too, where relaxed SIMD
// is exact on processors with AVX-VNNI. (npm puts the Node 24 of the development dependencies first in the path.)
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const wasm = fileURLToPath(new URL('..', import.meta.url));
const all = readdirSync(wasm + 'tests')
  .filter((name) => name.endsWith('.test.mjs'))
  .map((name) => `tests/${name}`);
const runs = [
  [process.env.npm_node_execpath ?? process.execPath, all],
  [wasm + 'node_modules/node/bin/node', ['tests/node.test.mjs']],
];
for (const [node, files] of runs) {
  console.log(`# ${spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()}`);
  const options = ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files];
  const { status } = spawnSync(node, options, { cwd: wasm, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
