// SPDX-License-Identifier: Apache-2.0
// Tulle, wllama and onnxruntime-web in the same Chromium, interleaved; prints a table in markdown. See bench/peers/run.
import { parseArgs } from 'node:util';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../../../wasm/tests/support/browser.mjs';
import { serve } from '../../../wasm/tests/support/server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '128' },
    only: { type: 'string', default: '' }, // engines whose name contains this, and the first
  },
});
const [threads, rounds, tokens] = [values.threads, values.rounds, values.tokens].map(Number);

const engines = [
  { name: 'wllama 3.8.1, Q8_0', run: 'runWllama', model: 'Q8_0.gguf' },
  { name: 'onnxruntime-web 1.30.0, int8, the matrices alone', run: 'runOnnxRuntime', model: 'int8.onnx' },
];
for (const variant of ['relaxed', 'simd128']) {
  engines.push({ name: `tulle ${variant}, dense int8`, run: 'runTulle', model: 'Q8_0.gguf', variant, assembly: 'dense_i8' });
  for (const model of ['8_16', '4_16']) {
    engines.push({
      name: `tulle ${variant}, ${model.replace('_', ':')} int8`,
      run: 'runTulle',
      model: `${model}.gguf`,
      variant,
      assembly: '',
    });
  }
}

let chosen = engines.filter(({ name }, index) => index === 0 || name.includes(values.only));

const server = await serve(
  {
    '/': here,
    '/tulle/': join(root, 'wasm/dist'),
    '/wllama/': join(root, 'build/peers/browser/node_modules/@wllama/wllama'),
    '/onnxruntime/': join(root, 'build/peers/browser/node_modules/onnxruntime-web/dist'),
    '/models/': join(root, 'build/peers/browser/models'),
  },
  { isolated: threads > 1 },
);
const browser = await launch();
const found = new Map(chosen.map(({ name }) => [name, []]));
for (let round = 0; round < rounds; ++round) {
  for (const { name, run, model, variant, assembly } of chosen) {
    const page = await browser.newPage();
    await page.goto(server.url + '/index.html');
    await page.waitForFunction(() => globalThis.ready);
    const options = { url: `${server.url}/models/${model}`, threads, variant, assembly, tokens };
    try {
      found.get(name).push(await page.evaluate(([run, options]) => globalThis[run](options), [run, options]));
      console.error(`round ${round + 1} of ${rounds}: ${name}`);
    } catch (error) {
      if (!error.message.includes('relaxed WebAssembly SIMD is missing')) throw error;
      console.error(`not on this processor: ${name}`);
      chosen = chosen.filter((engine) => engine.name !== name);
    }
    await page.close();
  }
}
await browser.close();
await server.close();

const median = (name, key) =>
  found
    .get(name)
    .map((each) => each[key])
    .sort((a, b) => a - b)[rounds >> 1];
const [peer] = engines;
console.log(`SmolLM2-135M, threads: ${threads}, medians of ${rounds}; tokens per second, and times wllama\n`);
console.log('| engine | decode | | prefill | | load, ms | memory, MB |\n|---|---|---|---|---|---|---|');
for (const { name } of chosen) {
  const times = (key) => (median(name, key) / median(peer.name, key)).toFixed(1);
  const [decode, prefill] = ['decode', 'prefill'].map((key) => median(name, key).toFixed(0));
  const memory = median(name, 'memory');
  console.log(
    `| ${name} | ${decode} | ${times('decode')} | ${prefill} | ${times('prefill')} | ` +
      `${median(name, 'load').toFixed(0)} | ${memory ? (memory / 1e6).toFixed(0) : ''} |`,
  );
}
