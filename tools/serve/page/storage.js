// Conversations and settings, in the browser's storage. A conversation is { id, title, changed, messages } under a key of its
// own, so that two tabs do not overwrite each other's; a message is { role, content, reasoning, figures }.
const chatKey = (id) => 'tulle.chat.' + id;

/** What a key holds, or `otherwise` where that is nothing, no JSON, or the browser keeps nothing. */
function stored(key, otherwise, storage = 'localStorage') {
  try {
    return JSON.parse(globalThis[storage].getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Returns why it could not be kept; nothing where it was. */
function store(key, value, storage = 'localStorage') {
  try {
    globalThis[storage].setItem(key, JSON.stringify(value));
  } catch (error) {
    return `The browser does not keep this: ${error.message}`;
  }
}

/** The latest first. */
function storedChats() {
  let keys = [];
  try {
    keys = Object.keys(localStorage);
  } catch {
    // A browser that keeps nothing.
  }
  return keys
    .filter((key) => key.startsWith(chatKey('')))
    .map((key) => stored(key))
    .filter((chat) => Array.isArray(chat?.messages))
    .sort((a, b) => b.changed - a.changed);
}

const newChat = () => ({
  id: Date.now().toString(36) + Math.random().toString(36).slice(2),
  title: 'New chat',
  messages: [],
});

const storeChat = (chat) => store(chatKey(chat.id), Object.assign(chat, { changed: Date.now() }));

function removeChat(id) {
  try {
    localStorage.removeItem(chatKey(id));
  } catch {
    // A browser that keeps nothing.
  }
}
