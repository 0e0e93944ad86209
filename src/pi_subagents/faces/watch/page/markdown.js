// Markdown as elements: a parser says what is what, and its words become text here, never markup.

import { make } from "./dom.js";
import { lexer } from "./marked.esm.js";

const MAX_TEXT = 32000; // beyond that, hostile texts could keep the parser busy for seconds
const MAX_DEPTH = 24;
const LEADS_OUT = /^(?:https?:|mailto:)/i;
const DEEPER = 2; // levels of headings
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", copy: "©", hellip: "…", mdash: "—", ndash: "–", rarr: "→", larr: "←", times: "×", middot: "·", bull: "•" };

export function markdown(text) {
  const box = make("div", { class: "text" });
  if (text.length > MAX_TEXT) return plain(box, text);
  try {
    box.append(...blocks(lexer(text), 0));
  } catch {
    return plain(box, text); // what nests too deeply, say
  }
  return box;
}

function plain(box, text) {
  box.classList.add("plain");
  box.replaceChildren(text);
  return box;
}

const named = (text) => text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,8}));/gi, (whole, number, hex, name) => {
  if (name) return Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : whole;
  const code = number ? Number(number) : Number.parseInt(hex, 16);
  // Nothing that turns the direction of a text around, either.
  return code > 31 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) && !/\p{C}/u.test(String.fromCodePoint(code)) ? String.fromCodePoint(code) : whole;
});

function blocks(tokens, depth) {
  if (depth > MAX_DEPTH) return tokens.map(({ raw }) => raw);
  return tokens.flatMap((token) => block(token, depth) ?? []);
}

function block(token, depth) {
  switch (token.type) {
    case "space": case "def": return null;
    case "heading": return make(`h${Math.min(token.depth + DEEPER, 6)}`, {}, ...inline(token.tokens, depth));
    case "paragraph": return make("p", {}, ...inline(token.tokens, depth));
    case "text": return token.tokens ? inline(token.tokens, depth) : [named(token.text)];
    case "code": return make("pre", { tabIndex: 0 }, make("code", {}, token.text));
    case "blockquote": return make("blockquote", {}, ...blocks(token.tokens, depth + 1));
    case "hr": return make("hr");
    case "list": return list(token, depth);
    case "table": return table(token, depth);
    default: return make("p", {}, token.raw); // markup of the text's own is shown as it is
  }
}

function list(token, depth) {
  const items = token.items.map((item) => {
    const mark = item.task ? (item.checked ? "☑ " : "☐ ") : "";
    return make("li", { class: mark ? "task" : "" }, mark, ...blocks(item.tokens.filter(({ type }) => type !== "checkbox"), depth + 1));
  });
  const element = make(token.ordered ? "ol" : "ul", {}, ...items);
  if (token.ordered && Number.isSafeInteger(token.start)) element.start = token.start;
  return element;
}

function table(token, depth) {
  const row = (cells, tag) => make("tr", {}, ...cells.map((cell, n) => make(tag, { class: token.align[n] === "right" ? "figure" : "" }, ...inline(cell.tokens, depth))));
  const body = make("tbody", {}, ...token.rows.map((cells) => row(cells, "td")));
  return make("div", { class: "wide", tabIndex: 0 }, make("table", {}, make("thead", {}, row(token.header, "th")), body));
}

function inline(tokens, depth) {
  if (depth > MAX_DEPTH) return tokens.map(({ raw }) => raw);
  return tokens.flatMap((token) => {
    const inside = () => inline(token.tokens, depth + 1);
    switch (token.type) {
      case "text": return token.tokens ? inside() : [named(token.text)];
      case "escape": return [token.text];
      case "strong": return make("strong", {}, ...inside());
      case "em": return make("em", {}, ...inside());
      case "del": return make("del", {}, ...inside());
      case "codespan": return make("code", {}, token.text);
      case "br": return make("br");
      case "link": return link(token, inside());
      case "image": return [`[picture: ${token.text}]`];
      default: return [token.raw];
    }
  });
}

// A link leads to the web or nowhere, and says where.
function link(token, children) {
  const address = named(token.href);
  if (!LEADS_OUT.test(address)) return make("span", { title: address }, ...children);
  return make("a", { href: address, title: address, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}
