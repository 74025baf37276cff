/** How one reply is shown: while it waits, while it comes, and what is known of it afterwards. */
import { copyButton, make } from "./dom.js";
import { MarkdownView } from "./markdown.js";
import { count, duration } from "./models.js";

/** @typedef {import("./chat-client.js").Reply} Reply */
/** @typedef {import("./chat-client.js").ChatError} ChatError */
/** @typedef {import("./chat-client.js").ToolCall} ToolCall */
/** @typedef {import("./conversation.js").Entry} Entry */

const ENDINGS = /** @type {Record<string, string>} */ ({
  length: "The reply reached its token limit.",
  content_filter: "The reply was censored.",
});

export class ReplyView {
  /** @param {{onRetry: () => void, onRequest?: () => void, isJson?: boolean}} options `isJson`: asked for in a structured format */
  constructor({ onRetry, onRequest, isJson = false }) {
    this.isJson = isJson;
    this.text = "";
    /** @type {Map<string, HTMLElement>} */
    this.calls = new Map();
    this.state = make("p", { className: "state" });
    this.reasoningText = document.createTextNode("");
    this.reasoningTitle = make("summary", {}, "Thinking…");
    this.reasoning = make("details", { className: "reasoning", hidden: true }, this.reasoningTitle, make("div", {}, this.reasoningText));
    this.body = make("div", { className: "markdown" });
    this.extras = make("div", { className: "extras" });
    this.facts = make("p", { className: "served" });
    const retry = make("button", { type: "button", className: "quiet retry" }, "Try again");
    retry.addEventListener("click", onRetry);
    this.copy = copyButton(() => this.text);
    this.actions = make("div", { className: "actions", hidden: true }, this.copy, retry);
    if (onRequest) {
      const request = make("button", { type: "button", className: "quiet" }, "Request");
      request.addEventListener("click", onRequest);
      this.actions.append(request);
    }
    const parts = [this.state, this.reasoning, this.body, this.extras, this.facts, this.actions];
    this.element = make("article", { className: "turn reply", "aria-label": "Reply", "aria-busy": "true" }, ...parts);
    this.markdown = new MarkdownView(this.body);
  }

  /** @param {string} text what happens at the moment; none hides the line */
  tell(text) {
    this.state.textContent = text;
    this.state.hidden = !text;
  }

  /** @param {{position: number, waitTime: number}} queue */
  queued({ position, waitTime }) {
    if (this.text || !this.reasoning.hidden) return;
    this.tell(position > 0 ? `In the queue at position ${position}, about ${duration(waitTime)} to wait` : "A worker is on it…");
  }

  /** @param {string} text */
  reason(text) {
    this.tell("");
    this.reasoning.hidden = false;
    this.reasoningText.appendData(text);
  }

  /** @param {string} text */
  write(text) {
    this.tell("");
    this.reasoningTitle.textContent = "Thoughts";
    this.text += text;
    if (!this.isJson) this.markdown.append(text);
  }

  /** Shows all that is known at a reply's end. @param {Reply} reply */
  async finish(reply) {
    for (const call of reply.calls) this.#addCall(call);
    this.#showServed(reply);
    await this.#settle();
  }

  /** @param {ChatError} error */
  async fail(error) {
    if (this.text) this.note("What came before the error is not part of the conversation.");
    this.element.classList.add("failed");
    this.extras.append(errorBox(error));
    await this.#settle();
  }

  async stop() {
    this.note("Stopped. The Horde was told to cancel the job; what was written until then is charged.");
    await this.#settle();
  }

  /** @param {string} text */
  note(text) {
    this.extras.append(make("p", { className: "notice" }, text));
  }

  /** Asks whether a call may run. @param {ToolCall} call @param {AbortSignal} [signal] @returns {Promise<boolean>} */
  consent(call, signal) {
    return new Promise((resolve) => {
      const answer = (/** @type {boolean} */ may) => (question.remove(), resolve(may));
      const run = make("button", { type: "button", className: "primary" }, "Run");
      const decline = make("button", { type: "button", className: "quiet" }, "Decline");
      const question = make("p", { className: "row" }, "Run this on the tool server?", run, decline);
      run.addEventListener("click", () => answer(true));
      decline.addEventListener("click", () => answer(false));
      signal?.addEventListener("abort", () => answer(false));
      this.calls.get(call.id)?.append(question);
      run.focus();
    });
  }

  /** @param {string} id @param {string} content */
  showResult(id, content) {
    this.calls.get(id)?.append(make("p", { className: "label" }, "Result"), make("pre", { tabIndex: 0 }, pretty(content)));
  }

  /** Shows a reply of an imported conversation. @param {Entry} entry */
  async restore({ content, tool_calls: calls = [], details = {}, isLeftOut }) {
    if (details.reasoning) this.reason(String(details.reasoning));
    if (content) this.write(String(content));
    const reply = { calls, model: details.model, horde: details.horde, usage: details.usage, finishReason: details.finish_reason };
    this.tell("");
    if (isLeftOut) {
      this.element.classList.add("failed");
      this.note(`Not part of the conversation. ${details.error?.message ?? ""}`);
    }
    await this.finish(/** @type {any} */ (reply));
  }

  async #settle() {
    this.tell("");
    if (this.isJson) this.#showJson();
    this.reasoningTitle.textContent = "Thoughts";
    await this.markdown.finish();
    this.element.setAttribute("aria-busy", "false");
    this.actions.hidden = false;
    this.copy.hidden = this.text === "";
  }

  #showJson() {
    const text = pretty(this.text);
    if (this.text) this.body.append(make("div", { className: "code" }, make("pre", { tabIndex: 0 }, make("code", {}, text)), copyButton(() => text)));
  }

  /** @param {ToolCall} call */
  #addCall(call) {
    const title = make("p", { className: "label" }, "Calls ", make("code", {}, call.function.name));
    const card = make("section", { className: "call", "aria-label": `Call of ${call.function.name}` }, title);
    card.append(make("pre", { tabIndex: 0 }, pretty(call.function.arguments)));
    this.calls.set(call.id, card);
    this.extras.append(card);
  }

  /** @param {Reply} reply */
  #showServed({ model, horde, usage, finishReason }) {
    const tokens = usage ? `${count(usage.completion_tokens)} tokens` : "";
    const thought = usage?.completion_tokens_details?.reasoning_tokens;
    const parts = [
      model,
      horde?.worker_name && `by ${horde.worker_name}`,
      typeof horde?.kudos === "number" && `${count(horde.kudos)} kudos`,
      tokens && (thought ? `${tokens}, ${count(thought)} of them thoughts` : tokens),
    ];
    this.facts.textContent = parts.filter(Boolean).join(" · ");
    for (const adjustment of horde?.context_adjustments ?? []) this.note(adjustmentText(adjustment));
    if (horde?.notice) this.note(horde.notice);
    else if (finishReason && ENDINGS[finishReason]) this.note(ENDINGS[finishReason]);
  }
}

/** @param {any} adjustment */
function adjustmentText({ reason, from, to, dropped_messages: dropped }) {
  if (reason === "worker_max_length") return `The reply's limit was lowered from ${from} to ${to} tokens: no worker serves more.`;
  if (reason === "grow") return `The context grew from ${from} to ${to} tokens to fit the messages.`;
  if (reason === "truncate_oldest") return `The ${dropped} oldest messages were left out to fit the context.`;
  return `The Horde changed the request: ${reason}.`;
}

/** @param {ChatError} error */
function errorBox(error) {
  const { code, status, param, metadata, isRetrySafe, retryAfter } = error;
  const facts = [code, status ? `status ${status}` : "", param && `at ${param}`, metadata?.request_id && `request ${metadata.request_id}`];
  const wait = retryAfter ? ` Wait ${duration(retryAfter)} first.` : "";
  const isAtFault = status >= 400 && status < 500 && status !== 429; // it would only be refused again
  const advice = isRetrySafe
    ? `Safe to ${isAtFault ? "correct and send" : "try"} again: the Horde never held this request.${wait}`
    : `Not safe to repeat blindly: the Horde may have held this request, and a new one may be charged again.${wait}`;
  return make(
    "div",
    { className: "error", role: "alert" },
    make("p", {}, error.message),
    make("p", { className: "note" }, facts.filter(Boolean).join(" · ")),
    make("p", { className: "note" }, advice),
  );
}

/** JSON with line breaks; any other text as it is. @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
