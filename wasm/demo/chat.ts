// SPDX-License-Identifier: Apache-2.0
// A conversation with streaming.
import type { Generation, Message, Model } from 'tulle';
import { element, megabytes, perSecond } from './page';

const log = element('log');
const form = element<HTMLFormElement>('chat');
const message = element<HTMLTextAreaElement>('message');
const send = element<HTMLButtonElement>('send');
const stop = element<HTMLButtonElement>('stop');
const clear = element<HTMLButtonElement>('clear');
const speed = element('speed');

export class Chat {
  #model: Model | undefined;
  #messages: Message[] = [];
  #running: Generation | undefined;

  constructor() {
    form.onsubmit = (event) => {
      event.preventDefault();
      void this.#say(message.value.trim());
    };
    message.onkeydown = (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    };
    stop.onclick = () => this.#running?.stop();
    clear.onclick = () => this.#restart();
  }

  use(model: Model | undefined): void {
    this.#running?.stop();
    this.#model = model;
    this.#restart();
    for (const each of [message, send, clear]) each.disabled = model === undefined;
    if (model) message.focus();
  }

  #restart(): void {
    this.#running?.stop();
    this.#messages = [];
    log.replaceChildren();
    speed.textContent = '';
  }

  async #say(content: string): Promise<void> {
    const model = this.#model;
    if (!model || this.#running || !content) return;
    const messages = this.#messages;
    message.value = '';
    messages.push({ role: 'user', content });
    add('user', content);
    const answer = add('assistant', '');
    this.#busy(true);
    try {
      // A model without a chat template goes on with the text.
      const prompt = model.info.hasChatTemplate ? messages : content;
      const generation = (this.#running = model.generate(prompt, {
        maxNewTokens: element<HTMLInputElement>('tokens').valueAsNumber || 256,
        temperature: element<HTMLInputElement>('temperature').valueAsNumber || 0,
        seed: Math.floor(Math.random() * 2 ** 32),
      }));
      const begin = performance.now();
      let count = 0;
      for await (const { text } of generation) {
        answer.append(text);
        log.scrollTop = log.scrollHeight;
        speed.textContent = perSecond((++count * 1000) / (performance.now() - begin));
      }
      const { text, usage, timings } = await generation.result;
      messages.push({ role: 'assistant', content: text });
      speed.textContent =
        `${perSecond(timings.decodeTokensPerSecond)} written; ` +
        `${usage.promptTokens - usage.cachedTokens} tokens read at ${perSecond(timings.prefillTokensPerSecond)}; ` +
        `memory ${megabytes(await model.memoryBytes())}`;
    } catch (error) {
      if (this.#model === model) speed.textContent = String(error);
    } finally {
      this.#running = undefined;
      this.#busy(false);
    }
  }

  #busy(on: boolean): void {
    log.ariaBusy = String(on);
    stop.disabled = !on;
    send.disabled = on || !this.#model;
  }
}

function add(role: string, text: string): HTMLElement {
  const entry = document.createElement('div');
  entry.className = `message ${role}`;
  const who = document.createElement('span');
  who.className = 'hidden';
  who.textContent = role === 'user' ? 'You: ' : 'Model: ';
  entry.append(who, text);
  log.append(entry);
  log.scrollTop = log.scrollHeight;
  return entry;
}
