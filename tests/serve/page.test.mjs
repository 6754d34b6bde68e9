// SPDX-License-Identifier: Apache-2.0
// The chat of `tulle serve` (TULLE_COMMAND) in Debian's Chromium. TULLE_SCREENSHOTS names a folder for pictures of it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, noBrowser } from '../../wasm/tests/support/browser.mjs';

const model = fileURLToPath(new URL('../golden/models/gguf/q8_0.gguf', import.meta.url));

async function start() {
  const flags = ['serve', model, '--port', '0', '--sequence-length', '16384', '--threads', '1', '--api-key', 'secret'];
  const server = spawn(process.env.TULLE_COMMAND, flags, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  for await (const part of server.stderr.iterator({ destroyOnReturn: false })) {
    said += part;
    const found = /Listening on (http:\S+)/.exec(said);
    if (found) return { server, url: found[1] };
  }
  throw new Error(said);
}

describe('the chat page', { skip: noBrowser }, () => {
  let server, url, browser, page;
  let changeRequest = (body) => body;  // on its way to the server
  let sent;                            // the last request, as the page sent it
  const problems = [];

  before(async () => {
    [browser, { server, url }] = await Promise.all([launch(), start()]);
    page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
    page.setDefaultTimeout(90_000);
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    await page.route('**/v1/chat/completions', (route) => {
      sent = route.request().postDataJSON();
      return route.continue({ postData: changeRequest({ ...sent, ignore_eos: true }) });
    });
  });
  after(async () => {
    await browser?.close();
    server?.kill();
    if (server) await once(server, 'exit');
  });

  const status = (text) => page.waitForFunction((each) => document.querySelector('#status').textContent.includes(each), text);
  const finished = () => page.waitForFunction(() => !document.querySelector('#send').hidden);
  const send = async (text) => {
    await page.locator('#message').fill(text);
    await page.keyboard.press('Enter');
  };
  const picture = async (name) => {
    const folder = process.env.TULLE_SCREENSHOTS;
    if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
  };
  /** The next answer, in place of the server's: a stream of these deltas. */
  const answerWith = async (deltas) => {
    const usage = { completion_tokens: 9, prompt_tokens: 99 };
    const events = [...deltas.map((delta) => ({ choices: [{ delta }] })), { choices: [], usage }];
    const body = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
    const answer = { contentType: 'text/event-stream', body };
    await page.route('**/v1/chat/completions', (route) => route.fulfill(answer), { times: 1 });
  };

  test('it opens without a key, and wants one', async () => {
    const response = await page.goto(url);
    assert.match(response.headers()['content-security-policy'], /default-src 'none'; script-src 'sha256-/);
    await status('API key');
    assert.ok(problems.every((text) => text.includes('401')), problems);
    problems.length = 0;
    await page.locator('#key').fill('secret');
    await page.locator('#key').blur();
    await status('');
    await page.waitForFunction(() => document.querySelector('#model').value.endsWith('q8_0.gguf'));
  });

  test('a message is answered in the settings that were made, with figures', async () => {
    await page.locator('#system').fill('You are brief, and say what you know in as few words as you can find for it.');
    for (const [id, value] of Object.entries({ temperature: 0.5, top_p: 0.9, max_tokens: 40, seed: 7 })) {
      await page.locator('#' + id).fill(String(value));
    }
    await page.locator('#settings summary').click();
    await send('Once upon a time');
    await finished();
    const figures = /tokens\/s · 40 tokens · first after .* prompt \d+ tokens, 0 of them/;
    assert.match(await page.locator('.figures').textContent(), figures);
    assert.deepEqual([sent.temperature, sent.top_p, sent.max_tokens, sent.seed, sent.model], [0.5, 0.9, 40, 7, model]);
    assert.deepEqual(sent.messages.map(({ role }) => role), ['system', 'user']);
    await send('And then?');
    await finished();
    assert.deepEqual(sent.messages.map(({ role }) => role), ['system', 'user', 'assistant', 'user']);
    assert.match(await page.locator('.figures').nth(1).textContent(), /, [1-9]\d+ of them cached/);
  });

  test('an answer is stopped, and what was written stays', async () => {
    changeRequest = (body) => ({ ...body, max_tokens: 15_000 });
    await send('Count');
    await page.waitForFunction(() => document.querySelectorAll('.assistant').length === 3);
    await page.keyboard.press('Escape');
    await finished();
    changeRequest = (body) => body;
    assert.match(await page.locator('.figures').nth(2).textContent(), /^stopped · /);
    await page.waitForFunction(async () => {
      const headers = { Authorization: 'Bearer secret' };
      return (await (await fetch('slots', { headers })).json())[0].requests.length === 0;
    });
  });

  test('a conversation is there after a reload, gets another title, is exported and deleted', async () => {
    const texts = await page.locator('.message .content').allTextContents();
    await page.reload();
    await page.waitForFunction(() => document.querySelector('#model').value);
    assert.deepEqual(await page.locator('.message .content').allTextContents(), texts);
    assert.equal(await page.locator('#seed').inputValue(), '7');
    page.once('dialog', (dialog) => dialog.accept('A tale'));
    await page.locator('#rename').click();
    assert.deepEqual(await page.locator('#chats li').allTextContents(), ['A tale']);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#export').click()]);
    assert.equal(download.suggestedFilename(), 'A-tale.json');
    const exported = JSON.parse(readFileSync(await download.path(), 'utf8'));
    assert.deepEqual(exported.messages.map(({ role }) => role).slice(0, 2), ['user', 'assistant']);
    await page.locator('#new').click();
    await send('Another');
    await finished();
    assert.deepEqual(await page.locator('#chats li').allTextContents(), ['Another', 'A tale']);
    page.once('dialog', (dialog) => dialog.accept());
    await page.locator('#delete').click();
    assert.deepEqual(await page.locator('#chats li').allTextContents(), ['A tale']);
  });

  test('reasoning is folded; Markdown is shown, and markup of a model is text', async () => {
    await page.locator('#new').click();
    const text = [
      '# Title', 'Some **bold**, *em* and `code` of [a page](https://example.org/), [not](javascript:alert(1)).', '',
      '- one', '- two', '  1. deep', '', '```js', 'if (a < b) {', '}', '```', '', '| a | b |', '|---|---|', '| 1 | 2 |', '',
      '> quoted', '', '<img src=x onerror="document.title=1"> <script>document.title = 2</script>',
    ].join('\n');
    const thoughts = ['First I ', 'think.'].map((reasoning_content) => ({ reasoning_content }));
    await answerWith([...thoughts, ...text.match(/[^]{1,7}/g).map((content) => ({ content }))]);
    await send('Show');
    await finished();
    const answer = page.locator('.assistant').last();
    assert.equal(await answer.locator('details').getAttribute('open'), null);
    assert.equal(await answer.locator('details .content').textContent(), 'First I think.');
    const tags = (node) => [...node.querySelectorAll('*')].map((each) => each.tagName.toLowerCase()).join(' ');
    const found = await answer.locator('> .content').evaluate(tags);
    assert.equal(found, 'h3 p strong em code a ul li li ol li pre code div table tbody tr th th tr td td blockquote p p');
    assert.equal(await answer.locator('pre code').textContent(), 'if (a < b) {\n}');
    assert.match(await answer.textContent(), /not \(javascript:alert\(1\)\)|<img src=x/);
    assert.equal(await page.title(), 'Tulle');
    await picture('light');
    await answerWith([{ content: 'Another answer' }]);
    await answer.getByText('Again').click();
    await page.waitForFunction(() => document.querySelector('.assistant .content p')?.textContent === 'Another answer');
  });

  test('a message that cannot be answered goes back to where it was written', async () => {
    changeRequest = (body) => ({ ...body, temperature: -1 });
    await send('Wrong');
    await status('temperature');
    assert.equal(await page.locator('#message').inputValue(), 'Wrong');
    assert.equal(await page.locator('.user').count(), 1);
    assert.equal(await page.locator('#status').getAttribute('class'), 'error');
    changeRequest = (body) => body;
    assert.ok(problems.every((each) => each.includes('400')), problems);
    problems.length = 0;
  });

  test('it fits a phone, names its controls, and is dark where the system is', async () => {
    await page.setViewportSize({ width: 360, height: 640 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture('phone');
    await page.locator('#menu').click();
    assert.ok(await page.locator('#new').isVisible());
    await page.locator('#settings summary').click();
    await picture('phone-menu');
    const facts = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      background: getComputedStyle(document.body).backgroundColor,
      unnamed: [...document.querySelectorAll('input, select, textarea, button')].filter(
        (control) => !control.labels?.length && !control.textContent.trim(),
      ).length,
    }));
    assert.deepEqual(facts, { width: 360, background: 'rgb(22, 24, 28)', unnamed: 0 });
    await page.locator('#new').click();
    assert.ok(await page.locator('#message').isVisible());
    assert.deepEqual(problems, []);
  });
});
