/**
 * Markdown that grows: a streamed reply is shown block by block, so that a long one costs no more
 * at its end than at its beginning. A block that can't change any more is rendered once and left
 * alone; only the last, open one is rendered again as it grows.
 *
 * What a reply says is a stranger's text. Raw HTML is shown as text, images become links (their
 * address could carry the conversation away), and all of it goes through DOMPurify's list.
 */
import { Lexer, Parser, Renderer } from "./vendor/marked.esm.js";
import DOMPurify from "./vendor/purify.es.mjs";
import { copyButton, make } from "./dom.js";

const SLICE = 2000; // characters taken in one task, so that a reply that comes whole is no long one
// From these sizes on, the finished part of a block that is still open is left alone as well.
const LONG_LIST = 12; // items
const LONG_TABLE = 40; // rows: it goes on as a table with the same head
const LONG_PARAGRAPH = 2000; // characters
const LONG_BLOCK = 8000; // characters of any other block
const OPEN_FENCE = /^ {0,3}(`{3,}|~{3,})([^\n`]*)\n/;

const ALLOWED = {
  ALLOWED_TAGS: "a p br strong em del code pre h3 h4 h5 h6 ul ol li blockquote hr table thead tbody tr th td".split(" "),
  ALLOWED_ATTR: ["href", "title", "start", "align"],
  ADD_URI_SAFE_ATTR: ["start", "align"], // by itself DOMPurify holds these against the next line
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** @param {string} text */
const escaped = (text) =>
  text.replace(/[&<>"']/g, (/** @type {string} */ character) => `&#${character.charCodeAt(0)};`);

class ReplyRenderer extends Renderer {
  /** @param {{text: string}} token */
  html({ text }) {
    return escaped(text);
  }
  /** @param {{href: string, text: string}} token */
  image({ href, text }) {
    return `<a href="${escaped(href)}">Image: ${escaped(text || href)}</a>`;
  }
  /** @param {{checked?: boolean}} token */
  checkbox({ checked }) {
    return checked ? "☑ " : "☐ ";
  }
  /** A reply's headings stand below the page's own. @param {any} token */
  heading({ tokens, depth }) {
    const level = Math.min(6, depth + 2);
    return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
  }
}

export class MarkdownView {
  /** @param {HTMLElement} element where the text is shown */
  constructor(element) {
    this.element = element;
    /** What hasn't been looked at yet. */
    this.waiting = "";
    /** The open block's source. */
    this.open = "";
    this.tail = element.appendChild(make("div", { className: "tail" }));
    /** @type {{text: Text, closing: RegExp} | null} a code block that is still coming */
    this.fence = null;
    /** @type {Element | null} the list or paragraph that the open block goes on with */
    this.grown = null;
    /** @type {any} link definitions, which count for all that follows */
    this.links = Object.create(null);
    this.isScheduled = false;
    this.isEnding = false;
    /** @type {(() => void)[]} */
    this.onSettled = [];
  }

  /** @param {string} text */
  append(text) {
    this.waiting += text;
    this.#schedule();
  }

  /** Takes in all that waits. @returns {Promise<void>} when the text is shown to its end */
  finish() {
    this.isEnding = true;
    this.#schedule();
    return new Promise((resolve) => this.onSettled.push(resolve));
  }

  #schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    // A hidden page has no frames, and its text has to come all the same.
    if (document.hidden) setTimeout(() => this.#step(), 50);
    else requestAnimationFrame(() => this.#step());
  }

  #step() {
    this.isScheduled = false;
    const slice = this.waiting.slice(0, SLICE);
    this.waiting = this.waiting.slice(SLICE);
    this.open += slice.replace(/\r\n?/g, "\n");
    this.#settle();
    if (this.waiting) {
      this.#schedule();
    } else if (this.isEnding) {
      this.#commit(this.#lex(this.open));
      this.open = "";
      this.tail.remove();
      this.onSettled.splice(0).forEach((resolve) => resolve());
    }
  }

  /** Leaves alone what is finished in the open source and shows the rest. */
  #settle() {
    while (this.fence ? this.#takeFence() : this.#takeBlocks());
    this.tail.replaceChildren(this.open && !this.fence ? this.#render(this.#lex(this.open)) : "");
  }

  /** Blocks that end before the last whole line. Returns whether a code block begins then. */
  #takeBlocks() {
    const end = this.open.lastIndexOf("\n") + 1;
    const source = this.open.length - end > LONG_PARAGRAPH ? this.open : this.open.slice(0, end);
    const tokens = source ? this.#lex(source) : [];
    const last = tokens.findLastIndex((token) => token.type !== "space");
    if (last > 0) {
      this.#commit(tokens.slice(0, last));
      this.open = this.open.slice(lengthOf(tokens.slice(0, last)));
    }
    const cut = last >= 0 ? this.#cut(tokens[last]) : null;
    if (cut) {
      this.open = cut.rest + this.open.slice(tokens[last].raw.length);
      this.#commit(cut.done);
      this.grown = this.tail.previousElementSibling;
    }
    return this.#openFence();
  }

  /** The finished part of a long open block, and the source of what goes on. @param {any} token */
  #cut(token) {
    const { type, raw } = token;
    if (type === "list" && token.items.length > LONG_LIST) {
      const items = token.items.slice(0, -2); // the last but one may still become a loose one
      return { done: [{ ...token, items }], rest: raw.slice(lengthOf(items)) };
    }
    if (type === "table" && token.rows.length > LONG_TABLE) {
      const lines = raw.trimEnd().split("\n");
      return { done: [{ ...token, rows: token.rows.slice(0, -1) }], rest: `${lines[0]}\n${lines[1]}\n${lines.at(-1)}\n` };
    }
    if (raw.length <= (type === "paragraph" ? LONG_PARAGRAPH : LONG_BLOCK)) return null;
    const at = type === "paragraph" ? sentenceEnd(raw) : raw.lastIndexOf("\n", raw.length - 2) + 1;
    return at > 0 ? { done: this.#lex(raw.slice(0, at)), rest: raw.slice(at) } : null;
  }

  #openFence() {
    const opening = OPEN_FENCE.exec(this.open);
    if (!opening) return false;
    const text = document.createTextNode("");
    this.tail.before(codeBlock(make("pre", {}, make("code", {}, text))));
    this.fence = { text, closing: new RegExp(`^ {0,3}${opening[1]}+[ \\t]*$`) };
    this.open = this.open.slice(opening[0].length);
    return true;
  }

  /** Moves whole lines into the code block. Returns whether it has ended. */
  #takeFence() {
    const { text, closing } = /** @type {{text: Text, closing: RegExp}} */ (this.fence);
    const lines = this.open.split("\n");
    const end = lines.findIndex((line) => closing.test(line));
    const isClosed = end >= 0 && (end < lines.length - 1 || this.#isLast());
    const taken = isClosed ? lines.slice(0, end) : lines.slice(0, this.#isLast() ? undefined : -1);
    if (taken.length) text.appendData((text.length ? "\n" : "") + taken.join("\n"));
    this.open = lines.slice(isClosed ? end + 1 : taken.length).join("\n");
    if (isClosed) this.fence = null;
    return isClosed;
  }

  #isLast() {
    return this.isEnding && !this.waiting;
  }

  /** @param {any[]} tokens blocks that won't change any more */
  #commit(tokens) {
    if (!tokens.length) return;
    const fragment = this.#render(tokens);
    const first = fragment.firstElementChild;
    if (first && first.tagName === this.grown?.tagName && ["list", "paragraph"].includes(tokens[0].type)) {
      this.grown.append(...(first.tagName === "P" ? [" "] : []), ...first.childNodes);
      first.remove();
    }
    this.grown = null;
    this.tail.before(fragment);
  }

  /** @param {string} source @returns {any[]} */
  #lex(source) {
    const lexer = /** @type {any} */ (new Lexer());
    lexer.tokens.links = this.links;
    return lexer.lex(source);
  }

  /** @param {any[]} tokens */
  #render(tokens) {
    const html = Parser.parse(tokens, { renderer: new ReplyRenderer() });
    const fragment = DOMPurify.sanitize(html, { ...ALLOWED, RETURN_DOM_FRAGMENT: true });
    for (const link of fragment.querySelectorAll("a")) {
      Object.assign(link, { target: "_blank", rel: "noopener noreferrer nofollow" });
    }
    for (const table of fragment.querySelectorAll("table")) {
      const frame = make("div", { className: "wide", tabIndex: 0 });
      table.replaceWith(frame);
      frame.append(table);
    }
    for (const block of fragment.querySelectorAll("pre")) {
      const place = document.createComment("");
      block.replaceWith(place);
      place.replaceWith(codeBlock(block));
    }
    return fragment;
  }
}

/** A code block with its copy button. @param {HTMLPreElement} block */
function codeBlock(block) {
  block.tabIndex = 0; // it may scroll sideways, by keyboard too
  return make("div", { className: "code" }, block, copyButton(() => block.textContent ?? ""));
}

/** Where a long paragraph may be cut: before a letter, so that the rest is none of markdown's marks. @param {string} text */
function sentenceEnd(text) {
  const part = text.slice(0, (LONG_PARAGRAPH * 2) / 3);
  const ends = [...part.matchAll(/(?:[.!?]\s+|[。！？])(?=\p{L})/gu), ...part.matchAll(/\s+(?=\p{L})/gu)];
  const best = ends.filter(({ index }) => index > LONG_PARAGRAPH / 3)[0] ?? ends.at(-1);
  return best ? best.index + best[0].length : part.length;
}

/** @param {{raw: string}[]} tokens */
const lengthOf = (tokens) => tokens.reduce((sum, { raw }) => sum + raw.length, 0);
