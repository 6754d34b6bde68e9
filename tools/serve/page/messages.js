// The messages of a conversation, as they are shown.
const log = document.getElementById('log');

function button(text, onclick) {
  return element('button', text, { type: 'button', onclick });
}

/** Appends a message; the last answer has a button that calls `again`. Returns a function that shows how it has changed. */
function showMessage(message, again) {
  const ofUser = message.role === 'user';
  const article = element('article', '', { className: 'message ' + message.role });
  article.setAttribute('aria-label', ofUser ? 'You' : 'Model');
  const reasoning = element('details', '', { className: 'reasoning', hidden: true });
  const thoughts = element('div', '', { className: 'content' });
  reasoning.append(element('summary', 'Reasoning'), thoughts);
  const content = element('div', '', { className: 'content' });
  const tools = element('div', '', { className: 'tools' });
  const figures = element('span', '', { className: 'figures' });
  tools.append(figures);
  if (navigator.clipboard) tools.append(button('Copy', () => navigator.clipboard.writeText(message.content)));
  tools.append(Object.assign(button('Again', again), { className: 'again' }));
  article.append(reasoning, content);
  if (!ofUser) article.append(tools);
  log.append(article);

  const show = () => {
    reasoning.hidden = !message.reasoning;
    if (ofUser) content.textContent = message.content;
    else showMarkdown(content, message.content);
    if (message.reasoning) showMarkdown(thoughts, message.reasoning);
    figures.textContent = message.figures ?? '';
  };
  show();
  return show;
}

/** Runs `change`, and keeps the end of the conversation in view where it was. */
function keepEndInView(change) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  change();
  if (atEnd) log.scrollTop = log.scrollHeight;
}
