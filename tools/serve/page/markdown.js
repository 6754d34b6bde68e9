// Markdown as nodes of the page: headings, paragraphs, lists, quotes, tables, code, emphasis, links. All text goes through
// textContent, so nothing that a model writes becomes markup.
const deepest = 8;  // of quotes and lists in each other

function element(tag, text = '', properties = {}) {
  return Object.assign(document.createElement(tag), { textContent: text }, properties);
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const heading = /^(#{1,6})\s+(.*?)\s*#*$/;
const rule = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const item = /^(\s*)([-*+]|(\d{1,9})[.)])\s+(.*)/;
const quote = /^ {0,3}> ?(.*)/;
const tableRule = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const begins = (line) => [fence, heading, rule, item, quote].some((pattern) => pattern.test(line));

/** Cuts lines into blocks: [{ kind, lines }]. */
function blocksOf(lines) {
  const blocks = [];
  for (let i = 0; i < lines.length; ) {
    const first = i, line = lines[i];
    const take = (kind, from, more) => {
      while (i < lines.length && more(lines[i])) i += 1;
      blocks.push({ kind, lines: lines.slice(first, i), from });
    };
    i += 1;
    if (!line.trim()) continue;
    const opening = fence.exec(line);
    if (opening) {
      take('code', opening[2], (next) => !next.trim().startsWith(opening[1]));
      i += 1;  // the closing fence
    } else if (heading.test(line)) take('heading', 0, () => false);
    else if (rule.test(line)) take('rule', 0, () => false);
    else if (quote.test(line)) take('quote', 0, (next) => quote.test(next));
    else if (item.test(line)) {
      const ordered = item.exec(line)[3] !== undefined;
      take('list', ordered, (next) => {
        const other = item.exec(next);
        if (other && !other[1]) return (other[3] !== undefined) === ordered && !rule.test(next);
        return /^\s+\S/.test(next) || (!next.trim() && /^\s+\S|^([-*+]|\d{1,9}[.)])\s/.test(lines[i + 1] ?? '')) ||
          (next.trim() && lines[i - 1].trim() && !begins(next));
      });
    } else if (line.includes('|') && tableRule.test(lines[i] ?? '')) {
      take('table', 0, (next) => next.includes('|'));
    } else take('paragraph', 0, (next) => next.trim() && !begins(next));
  }
  return blocks;
}

function listNode({ lines, from: ordered }, depth) {
  const list = element(ordered ? 'ol' : 'ul');
  if (ordered) list.start = Number(item.exec(lines[0])[3]);
  const margin = item.exec(lines[0])[1].length;
  let own;
  for (const line of lines) {
    const found = item.exec(line);
    if (found && found[1].length <= margin) list.append((own = Object.assign(element('li'), { lines: [found[4]] })));
    else own.lines.push(line.slice(Math.min(line.search(/\S|$/), margin + 2)));
  }
  for (const each of list.children) {
    const blocks = blocksOf(each.lines);
    if (blocks.length && blocks.every((block, i) => block.kind === (i ? 'list' : 'paragraph'))) {
      inline(each, blocks.shift().lines.join('\n'));  // a tight list
    }
    each.append(...blocks.map((block) => blockNode(block, depth + 1)));
  }
  return list;
}

function tableNode({ lines }) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());
  const table = element('table');
  lines.forEach((line, i) => {
    if (i === 1) return;
    const row = table.insertRow();
    for (const cell of cells(line)) inline(row.appendChild(element(i ? 'td' : 'th')), cell);
  });
  const wide = element('div', '', { className: 'wide' });
  wide.append(table);
  return wide;
}

function blockNode(block, depth) {
  const { kind, lines } = block;
  const text = lines.join('\n');
  if (depth > deepest) return element('pre', text);
  if (kind === 'code') {
    const pre = element('pre');
    pre.append(element('code', lines.slice(1).join('\n'), { title: block.from }));
    return pre;
  }
  if (kind === 'heading') {
    const [, marks, title] = heading.exec(text);
    return inline(element('h' + Math.min(6, marks.length + 2)), title);
  }
  if (kind === 'rule') return element('hr');
  if (kind === 'list') return listNode(block, depth);
  if (kind === 'table') return tableNode(block);
  if (kind === 'quote') {
    const node = element('blockquote');
    node.append(...blocksOf(lines.map((line) => quote.exec(line)[1])).map((each) => blockNode(each, depth + 1)));
    return node;
  }
  return inline(element('p'), text);
}

const marks = new RegExp(
  [
    /(?<!`)(?<ticks>`+)(?!`)(?<code>[^]*?[^`])\k<ticks>(?!`)/,
    /!?\[(?<label>[^\]\n]*)\]\((?<target>[^()\s]+)\)/,
    /(?<address>https?:\/\/[^\s<>()"']*[^\s<>()"'.,;:!?*_`])/,
    /\*\*(?<strong>\S|\S[^]*?\S)\*\*/,
    /(?<![\w*])\*(?<em>[^\s*]|[^\s*][^*\n]*[^\s*])\*(?![\w*])/,
    /(?<!\w)_(?<line>[^\s_]|[^\s_][^_\n]*[^\s_])_(?!\w)/,
    /~~(?<del>[^~\n]+)~~/,
    /\\(?<plain>[!-/:-@[-`{-~])/,
  ].map((pattern) => pattern.source).join('|'),
);

/** Only addresses that open a page or a mail. */
function link(label, target) {
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return label + ` (${target})`;
  return element('a', label, { href: target, target: '_blank', rel: 'noopener noreferrer' });
}

/** Appends a text with its emphasis, code and links, and returns the parent. */
function inline(parent, text) {
  for (let found; (found = marks.exec(text)); text = text.slice(found.index + found[0].length)) {
    const { code, label, target, address, strong, em, line, del, plain } = found.groups;
    parent.append(text.slice(0, found.index));
    if (code !== undefined) parent.append(element('code', code.replace(/^ (.*) $/s, '$1')));
    else if (target !== undefined) parent.append(link(label || target, target));
    else if (address !== undefined) parent.append(link(address, address));
    else if (plain !== undefined) parent.append(plain);
    else if (strong !== undefined) parent.append(inline(element('strong'), strong));
    else if (del !== undefined) parent.append(inline(element('del'), del));
    else parent.append(inline(element('em'), em ?? line));
  }
  parent.append(text);
  return parent;
}

/** Shows a text that grows: blocks that are as they were keep their nodes. */
function showMarkdown(parent, text) {
  const blocks = blocksOf(text.split('\n'));
  blocks.forEach((block, i) => {
    const source = block.kind + block.lines.join('\n');
    const old = parent.children[i];
    if (old?.source === source) return;
    const node = Object.assign(blockNode(block, 0), { source });
    old ? old.replaceWith(node) : parent.append(node);
  });
  while (parent.children.length > blocks.length) parent.lastElementChild.remove();
}
