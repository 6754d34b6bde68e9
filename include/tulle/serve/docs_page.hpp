// SPDX-License-Identifier: Apache-2.0
/// \file GET /docs: a page that shows /openapi.json and sends requests; it loads nothing from elsewhere (L6).
#pragma once

#include <string_view>

namespace tulle::serve {

inline constexpr std::string_view docs_page = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tulle: routes</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
summary { cursor: pointer; padding: .4rem 0; } code, pre, textarea { font-family: ui-monospace, monospace; }
b { display: inline-block; width: 4rem; } textarea { width: 100%; height: 8rem; box-sizing: border-box; }
pre { overflow: auto; padding: .6rem; border: 1px solid #8886; max-height: 24rem; }
</style></head><body>
<h1>Tulle</h1><p>The routes of this server; <a href="openapi.json">openapi.json</a> describes them for programs.</p>
<p><label>API key, where the server wants one: <input id="key" type="password" autocomplete="off"></label></p>
<main id="routes"></main>
<script>
const examples = {
  ChatRequest: { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 32 },
  CompletionRequest: { prompt: 'Once upon a time', max_tokens: 32 },
  ResponsesRequest: { input: 'Say hello.', max_output_tokens: 32 },
  MessagesRequest: { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 32 },
  PredictRequest: { prompt: 'Once upon a time', max_new_tokens: 32 },
  TokenizeRequest: { content: 'Hello' }, DetokenizeRequest: { tokens: [1, 2, 3] },
};
const element = (tag, text = '') => Object.assign(document.createElement(tag), { textContent: text });
const show = (path, method, operation) => {
  const details = element('details'), summary = element('summary'), answer = element('pre');
  summary.append(element('b', method.toUpperCase()), element('code', path), ' ' + operation.summary);
  details.append(summary);
  let body;
  if (operation.requestBody) {
    const schema = operation.requestBody.content['application/json'].schema.$ref.split('/').pop();
    body = element('textarea');
    body.value = JSON.stringify(examples[schema] ?? {}, null, 2);
    details.append(body);
  }
  const send = element('button', 'Send');
  send.onclick = async () => {
    answer.textContent = '...';
    const headers = { 'Content-Type': 'application/json' };
    const key = document.getElementById('key').value;
    if (key) headers.Authorization = 'Bearer ' + key;
    try {
      const response = await fetch('.' + path, { method: method.toUpperCase(), headers, body: body?.value });
      answer.textContent = response.status + '\n';
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part; !(part = await reader.read()).done; ) answer.textContent += part.value;
    } catch (error) { answer.textContent = String(error); }
  };
  details.append(send, answer);
  return details;
};
fetch('openapi.json').then((response) => response.json()).then(({ paths }) => {
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations))
      document.getElementById('routes').append(show(path, method, operation));
});
</script></body></html>
)html";

}  // namespace tulle::serve
