// The page: one conversation is open, and at most one answer is being written.
const $ = (id) => document.getElementById(id);
const numbers = ['temperature', 'top_p', 'max_tokens', 'seed'];
const kept = ['model', 'system', ...numbers];  // settings

let chat = storedChats()[0] ?? newChat();
let running;  // { chat, answer, controller }

function say(text, isError = false) {
  $('status').textContent = text ?? '';
  $('status').className = isError && text ? 'error' : '';
}

function keep(changed) {
  const problem = changed.isDeleted ? undefined : storeChat(changed);
  if (problem) say(problem, true);
}

function showChats() {
  const chats = storedChats();
  if (!chats.some(({ id }) => id === chat.id)) chats.unshift(chat);
  $('chats').replaceChildren(
    ...chats.map((each) => {
      const entry = element('li');
      const open = button(each.title, () => openChat(each));
      if (each.id === chat.id) open.setAttribute('aria-current', 'true');
      entry.append(open);
      return entry;
    }),
  );
  $('title').textContent = chat.title;
  for (const id of ['rename', 'export', 'delete']) $(id).disabled = !chat.messages.length;
}

function showMessages() {
  log.replaceChildren();
  for (const message of chat.messages) showMessage(message, answerAgain);
  log.scrollTop = log.scrollHeight;
}

function openChat(other) {
  setMenu(false);
  if (other.id === chat.id) return;
  running?.controller.abort();
  chat = other;
  say('');
  showChats();
  showMessages();
  $('message').focus();
}

function setMenu(isOpen) {
  document.body.classList.toggle('menu', isOpen);
  $('menu').setAttribute('aria-expanded', String(isOpen));
}

/** The request that continues these messages. */
function requestOf(messages) {
  const body = { stream: true, stream_options: { include_usage: true }, reasoning_format: 'deepseek' };
  if ($('model').value) body.model = $('model').value;
  for (const id of numbers) if ($(id).value !== '') body[id] = Number($(id).value);
  const system = $('system').value.trim();
  body.messages = messages.map(({ role, content }) => ({ role, content }));
  if (system) body.messages.unshift({ role: 'system', content: system });
  return body;
}

/** Answers the conversation's last message. Errors: as `streamChat`, before anything was written. */
async function answer(own) {
  const message = { role: 'assistant', content: '', reasoning: '' };
  const controller = new AbortController();
  const figures = new Figures();
  let show, drawn;
  const draw = () => {
    drawn = undefined;
    if (own !== chat) return;
    if (running) message.figures = figures.text();
    keepEndInView(() => (show ??= showMessage(message, answerAgain))());
  };
  running = { chat: own, answer: message, controller };
  setRunning(true);
  try {
    const usage = await streamChat(requestOf(own.messages), $('key').value, controller.signal, (delta) => {
      if (!delta.content && !delta.reasoning_content) return;
      message.content += delta.content ?? '';
      message.reasoning += delta.reasoning_content ?? '';
      figures.count();
      drawn ??= requestAnimationFrame(draw);
    });
    message.figures = figures.text(usage);
    say(message.content || message.reasoning ? '' : 'The model ended its answer at once.');
  } catch (error) {
    const isStopped = controller.signal.aborted;
    if (!message.content && !message.reasoning) throw isStopped ? new Error('Stopped') : error;
    message.figures = [isStopped ? 'stopped' : 'cut', figures.text()].join(' · ');
    if (!isStopped) say(error.message, true);
  } finally {
    if (drawn !== undefined) cancelAnimationFrame(drawn);
    running = undefined;
    setRunning(false);
  }
  own.messages.push(message);
  keep(own);
  draw();
  showChats();
}

function setRunning(isRunning) {
  $('send').hidden = isRunning;
  $('stop').hidden = !isRunning;
  log.setAttribute('aria-busy', String(isRunning));
  if (isRunning) say('Writing…');
}

async function send() {
  const text = $('message').value.trim(), own = chat;
  if (!text || running) return;
  const message = { role: 'user', content: text };
  own.messages.push(message);
  showMessage(message);
  log.scrollTop = log.scrollHeight;
  if (own.messages.length === 1 && own.title === 'New chat') own.title = text.split('\n')[0].slice(0, 60);
  $('message').value = '';
  try {
    await answer(own);
  } catch (error) {  // nothing came: the message goes back to where it was written
    own.messages.pop();
    if (own === chat) {
      log.lastElementChild.remove();
      $('message').value ||= text;
    }
    say(error.message, true);
  }
}

async function answerAgain() {
  const own = chat;
  if (running) return;
  const before = own.messages.pop();
  log.lastElementChild.remove();
  try {
    await answer(own);
  } catch (error) {
    own.messages.push(before);
    if (own === chat) showMessage(before, answerAgain);
    say(error.message, true);
  }
}

function exportChat() {
  const blob = new Blob([JSON.stringify(chat, null, 2)], { type: 'application/json' });
  const name = chat.title.replace(/[^\p{L}\p{N}]+/gu, '-') + '.json';
  const link = element('a', '', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function listModels() {
  try {
    const { data } = await (await ask('v1/models', $('key').value)).json();
    const wanted = $('model').value || stored('tulle.settings', {}).model;
    $('model').replaceChildren(...data.map(({ id }) => element('option', id.split('/').pop(), { value: id, title: id })));
    if (data.some(({ id }) => id === wanted)) $('model').value = wanted;
    say('');
  } catch (error) {
    say(error.message, true);
    $('settings').open = true;  // where the key is entered
  }
}

$('compose').addEventListener('submit', (event) => {
  event.preventDefault();
  send();
});
$('message').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') running ? running.controller.abort() : setMenu(false);
});
$('stop').onclick = () => {
  running?.controller.abort();
  $('message').focus();
};
$('menu').onclick = () => setMenu(!document.body.classList.contains('menu'));
$('new').onclick = () => openChat(newChat());
$('export').onclick = exportChat;
$('rename').onclick = () => {
  const title = prompt('Title of the conversation', chat.title)?.trim();
  if (!title) return;
  chat.title = title;
  keep(chat);
  showChats();
};
$('delete').onclick = () => {
  if (!confirm(`Delete "${chat.title}"?`)) return;
  chat.isDeleted = true;  // an answer that is stopped by this would keep it
  removeChat(chat.id);
  openChat(storedChats()[0] ?? newChat());
};
for (const id of kept) {
  $(id).addEventListener('change', () => {
    store('tulle.settings', Object.fromEntries(kept.map((each) => [each, $(each).value])));
  });
}
$('key').addEventListener('change', () => {
  store('tulle.key', $('key').value, 'sessionStorage');
  listModels();
});
addEventListener('storage', ({ key }) => {  // another tab
  if (key === chatKey(chat.id) && !running) {
    chat = stored(key, chat);
    showMessages();
  }
  showChats();
});
addEventListener('pagehide', () => {     // what was written so far stays
  if (running?.answer.content) keep({ ...running.chat, messages: [...running.chat.messages, running.answer] });
});

for (const [id, value] of Object.entries(stored('tulle.settings', {}))) if (id !== 'model' && $(id)) $(id).value = value;
$('key').value = stored('tulle.key', '', 'sessionStorage');
showChats();
showMessages();
listModels();
