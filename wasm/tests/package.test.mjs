// SPDX-License-Identifier: Apache-2.0
// The packed tarball in an empty folder: in Node, on a page without a bundler, and on pages that Vite makes.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, noBrowser, open } from './support/browser.mjs';
import { facts, goldenFolder } from './support/golden.mjs';
import { serve } from './support/server.mjs';

const wasm = fileURLToPath(new URL('..', import.meta.url));
const { path, prompt, greedy } = facts('gguf/q8_0.gguf');
const generation = { maxNewTokens: greedy.length, ignoreEos: true };
let folder, installed;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'tulle-package-'));
  const run = (command, ...options) => execFileSync(command, options, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
  run('npm', 'pack', wasm, '--ignore-scripts', '--silent');
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  run('npm', 'install', `./${tarball}`, '--offline', '--no-audit', '--no-fund', '--silent');
  installed = join(folder, 'node_modules', 'tulle');
});
after(() => rmSync(folder, { recursive: true, force: true }));

function filesOf(at) {
  return readdirSync(at, { recursive: true })
    .map((name) => join(at, name))
    .filter((file) => statSync(file).isFile());
}

test('the package is small: 2 MB unpacked, 337,000 bytes a module', (context) => {
  const files = filesOf(installed);
  const total = files.reduce((sum, file) => sum + statSync(file).size, 0);
  context.diagnostic(`${total} bytes unpacked`);
  assert.ok(total <= 2_000_000, `${total} bytes`);
  const modules = files.filter((file) => file.endsWith('.wasm.gz'));
  assert.equal(modules.length, 4);
  for (const file of modules) {
    context.diagnostic(`${file.slice(installed.length + 1)}: ${statSync(file).size} bytes`);
    assert.ok(statSync(file).size <= 337_000, `${file}: ${statSync(file).size} bytes`);
  }
  for (const name of ['README.md', 'LICENSE', 'dist/index.d.ts'])
    assert.ok(files.includes(join(installed, name)), name);
  assert.ok(files.every((file) => !/test|\.map$|tsconfig/.test(file.slice(installed.length))));
});

test('what a browser loads imports nothing of Node', () => {
  const seen = new Set();
  const visit = (file) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, target] of text.matchAll(/(?:from|import|new URL\()\s*\(?['"]([^'"]+)['"]/g)) {
      assert.match(target, /^\.\.?\//, `${file} imports ${target}`);
      if (/\.m?js$/.test(target)) visit(resolve(dirname(file), target));
    }
  };
  visit(join(installed, 'dist/index.js'));
  assert.ok(seen.has(join(installed, 'dist/worker/browser.js')));
  assert.ok([...seen].every((file) => !file.includes('node.js')));
});

test('in Node', () => {
  writeFileSync(
    join(folder, 'program.mjs'),
    `
    import { loadModel } from 'tulle';
    const model = await loadModel(${JSON.stringify(path)});
    const { tokens } = await model.generate(${JSON.stringify(prompt)}, ${JSON.stringify(generation)}).result;
    console.log(JSON.stringify([...tokens]));`,
  );
  const output = execFileSync(process.execPath, ['program.mjs'], { cwd: folder, encoding: 'utf8' });
  assert.deepEqual(JSON.parse(output), greedy);
});

test('the command says what is wrong', () => {
  const run = (...options) => {
    try {
      return execFileSync(process.execPath, [join(installed, 'dist/cli.js'), ...options], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
    } catch ({ status, stderr }) {
      return `${status} ${stderr}`;
    }
  };
  assert.match(run('--help'), /^usage: tulle generate MODEL PROMPT/);
  assert.match(run('generate', '/no/model.gguf', 'x'), /^1 tulle: \/no\/model\.gguf: no such file/);
  assert.match(run('generate', path), /^1 tulle: usage: /);
  assert.match(run('generate', path, 'x', '--seed', 'y'), /^1 tulle: --seed is "y"; give a number/);
  const text = facts('gguf/q4_1.gguf').path;
  assert.match(run('generate', text, 'Once upon a time', '--max-new-tokens', '5', '--threads', '1'), /\n$/);
});

test('lesson 10, in Node', () => {
  cpSync(join(wasm, '../examples/10_generate.mjs'), join(folder, '10_generate.mjs'));
  const run = (model) =>
    spawnSync(process.execPath, ['10_generate.mjs', model, 'Once upon a time'], { cwd: folder, encoding: 'utf8' });
  const { status, stdout } = run(facts('gguf/q4_1.gguf').path);
  assert.ok(status === 0 && stdout.length > 0);
  assert.match(run('none.gguf').stderr, /none\.gguf: no such file or directory/);
});

test('its types are complete', () => {
  writeFileSync(
    join(folder, 'typed.ts'),
    `
    import { loadModel, TulleError, type GenerationResult, type Model } from 'tulle';
    export async function run(model: Model, signal: AbortSignal): Promise<GenerationResult> {
      for await (const { text } of model.generate([{ role: 'user', content: 'Hi' }], { signal, seed: 1n })) text.length;
      // @ts-expect-error: there is no such option
      model.generate('x', { maxTokens: 3 });
      return model.generate(new Int32Array(1)).result;
    }
    export const model = loadModel(new URL('https://example.org/a.gguf'), { cache: false, integrity: { a: 'sha256-' } });
    export const code: string = new TulleError('quota', '').code;`,
  );
  execFileSync(
    process.execPath,
    [
      join(wasm, 'node_modules/typescript/bin/tsc'),
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--lib',
      'es2023,dom,esnext.disposable',
      '--module',
      'nodenext',
      'typed.ts',
    ],
    { cwd: folder, stdio: 'pipe' },
  );
});

describe('on pages', { skip: noBrowser }, () => {
  let browser;
  const servers = [];
  before(async () => (browser = await launch()));
  after(async () => {
    await browser.close();
    for (const server of servers) await server.close();
  });

  const page = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Test</title>`;

  async function generates(root, isolated, threads) {
    const server = await serve({ '/': root, '/models/': goldenFolder + 'models' }, { isolated });
    servers.push(server);
    const opened = await open(browser, server.url + '/index.html');
    const found = await opened.evaluate(
      async ([prompt, generation, threads]) => {
        const model = await tulle.loadModel('/models/gguf/q8_0.gguf', { threads });
        const { tokens } = await model.generate(prompt, generation).result;
        return { tokens: [...tokens], threads: model.runtime.threads };
      },
      [prompt, generation, threads],
    );
    await opened.close();
    assert.deepEqual(found, { tokens: greedy, threads: isolated ? threads : 1 });
  }

  test('without a bundler', async () => {
    const root = join(folder, 'plain');
    mkdirSync(root);
    cpSync(join(installed, 'dist'), join(root, 'tulle'), { recursive: true });
    writeFileSync(
      join(root, 'index.html'),
      `${page}<script type="module">import * as tulle from './tulle/index.js'; globalThis.tulle = tulle;</script>`,
    );
    await generates(root, false, 2);
    await generates(root, true, 2);
  });

  test('built by Vite as it is', async () => {
    const root = join(folder, 'vite');
    mkdirSync(root);
    writeFileSync(join(root, 'index.html'), `${page}<script type="module" src="./main.js"></script>`);
    writeFileSync(join(root, 'main.js'), `import * as tulle from 'tulle'; globalThis.tulle = tulle;`);
    const { build } = await import('vite');
    await build({ root, logLevel: 'error', build: { outDir: 'out', minify: true } });
    await generates(join(root, 'out'), false, 2);
    await generates(join(root, 'out'), true, 2);
  });

  test('lesson 9, built by Vite', async () => {
    const root = join(folder, 'lesson');
    cpSync(join(wasm, '../examples/09_browser'), root, { recursive: true });
    const { build } = await import('vite');
    await build({ root, logLevel: 'error', build: { outDir: 'out' } });
    const server = await serve({ '/': join(root, 'out') });
    servers.push(server);
    const opened = await browser.newPage();
    await opened.goto(server.url + '/index.html');
    await opened.locator('#model').setInputFiles(facts('gguf/q4_1.gguf').path);
    await opened.waitForFunction(() => document.querySelector('#text').textContent.length > 10);
    await opened.locator('#model').setInputFiles({ name: 'x.gguf', mimeType: '', buffer: Buffer.from('not a model') });
    await opened.waitForFunction(() => /x\.gguf|GGUF/.test(document.querySelector('#text').textContent));
    await opened.close();
  });
});
