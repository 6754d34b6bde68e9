// POST /v1/chat/completions as a stream of server-sent events.

/** GET or POST; an Error holds what the server said is wrong. */
async function ask(path, key, options = {}) {
  const headers = { 'Content-Type': 'application/json' };
  if (key) headers.Authorization = 'Bearer ' + key;
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  throw new Error(answer.error?.message ?? `The server answered ${response.status}`);
}

/** Calls `onDelta({ content, reasoning_content })` for every piece. Returns the usage. Errors: those of `ask`, of the
 *  connection, and an AbortError. */
async function streamChat(body, key, signal, onDelta) {
  const response = await ask('v1/chat/completions', key, { method: 'POST', body: JSON.stringify(body), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '', usage, part;
  while (!(part = await reader.read()).done) {
    const events = (text + part.value).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, '');
      if (data === '[DONE]') return usage;
      const { error, choices, usage: last } = JSON.parse(data);
      if (error) throw new Error(error.message);
      usage = last ?? usage;
      if (choices?.[0]?.delta) onDelta(choices[0].delta);
    }
  }
  throw new Error('The connection ended in the middle of the answer');
}

/** The speed of an answer, as a line of text. */
class Figures {
  #began = performance.now();
  #first;
  #last;
  #pieces = 0;

  /** A piece of the answer has come. */
  count() {
    this.#last = performance.now();
    this.#first ??= this.#last;
    this.#pieces += 1;
  }

  /** `usage` is what the server counted, once it is known; a piece is about a token. */
  text(usage) {
    if (!this.#pieces) return '';
    const tokens = usage?.completion_tokens ?? this.#pieces;
    const seconds = (this.#last - this.#first) / 1000;
    const parts = [`${tokens} tokens`, `first after ${((this.#first - this.#began) / 1000).toFixed(2)} s`];
    if (tokens > 1 && seconds > 0) parts.unshift(`${((tokens - 1) / seconds).toFixed(1)} tokens/s`);
    if (usage) {
      const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
      parts.push(`prompt ${usage.prompt_tokens} tokens, ${cached} of them cached`);
    }
    if (usage?.draft_n) parts.push(`drafts ${usage.draft_accepted} of ${usage.draft_n} accepted`);
    return parts.join(' · ');
  }
}
