// SPDX-License-Identifier: Apache-2.0
// The demo page: a model is picked, chats, is compared; on a phone, in the dark, without a network.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, noBrowser } from './support/browser.mjs';
import { goldenFolder, textModel } from './support/golden.mjs';
import { serve } from './support/server.mjs';

const wasm = fileURLToPath(new URL('..', import.meta.url));

describe('the demo page', { skip: noBrowser }, () => {
  let browser, server, context, page;
  const problems = [];
  before(async () => {
    for (const command of [
      'node_modules/typescript/bin/tsc -p demo',
      'node_modules/vite/bin/vite.js build demo --logLevel error',
    ]) {
      execFileSync(process.execPath, command.split(' '), { cwd: wasm, stdio: 'pipe' });
    }
    browser = await launch();
    server = await serve({ '/': wasm + 'demo/dist', '/models/': goldenFolder + 'models' }, { isolated: true });
    context = await browser.newContext({ viewport: { width: 360, height: 640 }, colorScheme: 'dark' });
    page = await context.newPage();
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    await page.goto(server.url + '/');
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const load = async () => {
    await page.locator('#files').setInputFiles(textModel.path);
    await page.waitForFunction(() => /layers/.test(document.querySelector('#status').textContent), null, {
      timeout: 90_000,
    });
  };

  test('a model is picked, and its threads are chosen', async () => {
    const threads = availableParallelism() > 1 ? '2 threads' : '1 thread';
    await page.locator('#threads').selectOption(threads[0]);
    await load();
    assert.match(
      await page.locator('#status').textContent(),
      new RegExp(`q4_1\\.gguf: 2 layers, .* MB of weights; (simd128|relaxed), ${threads}; loaded in`),
    );
  });

  test('a message is answered, with figures, and another one is stopped', async () => {
    await page.locator('#tokens').fill('40');
    await page.locator('#message').fill('Once upon a time');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() =>
      /tokens\/s written; .* memory \d+ MB/.test(document.querySelector('#speed').textContent),
    );
    assert.equal(await page.locator('.assistant').count(), 1);
    await page.locator('#tokens').fill('4000');
    await page.locator('#message').fill('Again');
    // At once: this model is small and would be done.
    await page.evaluate(() => {
      document.querySelector('#send').click();
      document.querySelector('#stop').click();
    });
    await page.waitForFunction(() => document.querySelector('#stop').disabled);
    assert.equal(await page.locator('#log').getAttribute('aria-busy'), 'false');
    await page.locator('#clear').click();
    assert.equal(await page.locator('.message').count(), 0);
  });

  test('dense and sparse are compared, and the chat goes on', async () => {
    await page.locator('#compare').click();
    await page.waitForFunction(() => /times as fast/.test(document.querySelector('#summary').textContent), null, {
      timeout: 90_000,
    });
    assert.equal(await page.locator('#chart rect').count(), 6);
    assert.match(await page.locator('#chart svg').getAttribute('aria-label'), /writing: dense .* tokens\/s, sparse/);
    await page.waitForFunction(() => !document.querySelector('#send').disabled);
  });

  test('what cannot be loaded says why', async () => {
    await page.locator('#url').fill(server.url + '/models/none.gguf');
    await page.locator('#load button').first().click();
    await page.waitForFunction(() => /no such file/.test(document.querySelector('#status').textContent));
    problems.splice(0, problems.length, ...problems.filter((text) => !text.includes('404')));
  });

  test('it fits a phone, names its controls, and follows the colours of the system', async () => {
    const facts = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      background: getComputedStyle(document.body).backgroundColor,
      unnamed: [...document.querySelectorAll('input, select, textarea, button')].filter(
        (control) => !control.labels?.length && !control.textContent.trim(),
      ).length,
    }));
    assert.ok(facts.width <= 360, `${facts.width} px wide`);
    assert.equal(facts.unnamed, 0);
    assert.equal(facts.background, 'rgb(22, 24, 28)');
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(251, 250, 247)');
  });

  test('it opens and runs without a network, isolated as before', async () => {
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    await server.close();
    server = { close() {} };
    await page.reload();
    assert.ok(await page.evaluate(() => crossOriginIsolated));
    await load();
    await page.locator('#message').fill('Once');
    await page.locator('#send').click();
    await page.waitForFunction(() => /written/.test(document.querySelector('#speed').textContent));
    assert.deepEqual(problems, []);
  });
});
