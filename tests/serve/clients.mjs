// SPDX-License-Identifier: Apache-2.0
// The official Node clients of OpenAI and Anthropic against `tulle serve`; run by run_clients.py.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const require = createRequire(process.env.TULLE_CLIENTS + '/');
const { OpenAI, AuthenticationError, BadRequestError, NotFoundError } = require('openai');
const { Anthropic } = require('@anthropic-ai/sdk');

const model = process.env.TULLE_MODEL;
const messages = [{ role: 'user', content: 'Hello' }];
const greedy = { model, temperature: 0, ignore_eos: true };
const settings = { baseURL: process.env.TULLE_SERVER + '/v1', apiKey: 'secret', maxRetries: 0 };
const client = new OpenAI(settings);

test('chat', async () => {
  const request = { ...greedy, messages, max_tokens: 10 };
  const answer = await client.chat.completions.create({ ...request, logprobs: true, top_logprobs: 2 });
  const [choice] = answer.choices;
  assert.deepEqual([choice.finish_reason, answer.usage.completion_tokens], ['length', 10]);
  assert.equal(choice.logprobs.content[3].top_logprobs.length, 2);

  const options = { ...request, stream: true, stream_options: { include_usage: true } };
  let text = '';
  let usage;
  for await (const chunk of await client.chat.completions.create(options)) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.deepEqual([text, usage.completion_tokens], [choice.message.content, 10]);
});

test('completions', async () => {
  const request = { ...greedy, max_tokens: 6 };
  const answer = await client.completions.create({ ...request, prompt: ['Once', 'Twice'], n: 2, logprobs: 1 });
  assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1, 2, 3]);
  assert.equal(answer.choices[0].logprobs.tokens.length, 6);

  let text = '';
  for await (const chunk of await client.completions.create({ ...request, prompt: 'Once', stream: true })) {
    text += chunk.choices[0].text;
  }
  assert.equal(text, answer.choices[0].text);
});

test('responses', async () => {
  const request = { ...greedy, input: 'Hello', max_output_tokens: 8 };
  const answer = await client.responses.create(request);
  assert.equal(answer.status, 'incomplete');
  let text = '';
  for await (const event of client.responses.stream(request)) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.equal(text, answer.output_text);
});

test('models', async () => {
  const ids = [];
  for await (const each of client.models.list()) ids.push(each.id);
  assert.deepEqual(ids, [model]);
});

test('errors', async () => {
  const create = (more) => client.chat.completions.create({ ...greedy, messages, ...more });
  await assert.rejects(create({ model: 'none' }), NotFoundError);
  await assert.rejects(create({ temperature: 3 }), (error) => error instanceof BadRequestError && error.param === 'temperature');
  await assert.rejects(new OpenAI({ ...settings, apiKey: 'wrong' }).models.list(), AuthenticationError);
});

test('many at once', async () => {
  const ask = async (prompt) => {
    const answer = await client.completions.create({ ...greedy, prompt, max_tokens: 12 });
    return answer.choices[0].text;
  };
  const prompts = Array.from({ length: 8 }, (_, number) => `Number ${number}`);
  const together = await Promise.all(prompts.map(ask));
  for (const [number, prompt] of prompts.entries()) assert.equal(await ask(prompt), together[number]);
});

test('a stream that its reader leaves', async () => {
  const stream = await client.completions.create({ ...greedy, prompt: 'Once', max_tokens: 200, stream: true });
  for await (const _ of stream) break;
  const answer = await client.completions.create({ ...greedy, prompt: 'Once', max_tokens: 2 });
  assert.equal(answer.usage.completion_tokens, 2);
});

test('messages', async () => {
  const anthropic = new Anthropic({ baseURL: process.env.TULLE_SERVER, apiKey: 'secret', maxRetries: 0 });
  const request = { ...greedy, messages, max_tokens: 8, system: 'Be brief.' };
  const answer = await anthropic.messages.create(request);
  assert.deepEqual([answer.stop_reason, answer.usage.output_tokens], ['max_tokens', 8]);
  assert.equal(await anthropic.messages.stream(request).finalText(), answer.content[0].text);
  await assert.rejects(anthropic.messages.create({ ...request, temperature: 5 }), { status: 400 });
  await assert.rejects(anthropic.messages.create({ ...request, model: 'none' }), { status: 404 });
});
