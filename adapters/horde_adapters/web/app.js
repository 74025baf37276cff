/** The playground: what happens when the user sends, stops, tries again, exports. */
import { assistantMessage, ChatClient, ChatError, chatWithTools } from "./chat-client.js";
import { Composer, thumbnail } from "./composer.js";
import { exported, history, imagesOf, imported, textOf, userMessage } from "./conversation.js";
import { find, make } from "./dom.js";
import { ModelPicker } from "./models.js";
import { buildRequest } from "./payload.js";
import { ReplyView } from "./reply-view.js";
import { RequestDialog } from "./request-dialog.js";
import { SettingsForm } from "./settings.js";
import { keepAtEnd, preparePanel, prepareFormat } from "./shell.js";
import { Toolbox } from "./toolbox.js";

/** @typedef {import("./conversation.js").Entry} Entry */
/** @typedef {import("./chat-client.js").Payload} Payload */
/** @typedef {import("./chat-client.js").Reply} Reply */
/** @typedef {import("./chat-client.js").Watch} Watch */

const TITLE = "horde-playground";
const SUGGESTIONS = [
  "Why is the sky blue? Two short paragraphs, please.",
  "Write a Python function that reverses the words of a sentence, and explain it.",
  "Compare three ways of making tea in a table.",
];

class Playground {
  constructor() {
    /** @type {{entry: Entry, element: HTMLElement}[]} */
    this.turns = [];
    /** @type {AbortController | null} set while a reply is under way */
    this.running = null;
    /** @type {Payload | null} */
    this.lastSent = null;
    this.shown = find("conversation", HTMLElement);
    this.settings = new SettingsForm();
    const update = () => this.update();
    this.composer = new Composer({ onSend: () => void this.send(), onChange: update });
    this.toolbox = new Toolbox(update);
    this.picker = new ModelPicker(update);
    this.request = new RequestDialog();
    this.settings.form.addEventListener("input", update);
    this.#prepareButtons();
    this.#prepareTools();
    this.update();
  }

  /** Tells what sending now would do: hints, the chosen model, whether sending makes sense. */
  update() {
    if (!this.picker) return; // still being built
    this.composer.hint(this.#draft().hints);
    const { model } = this.settings;
    Object.assign(find("chosen", HTMLElement), { textContent: model.split("/").at(-1) || "No model chosen", title: model });
    find("send", HTMLButtonElement).disabled = this.running !== null;
  }

  async loadModels() {
    const announcer = find("announcer", HTMLElement);
    try {
      const cards = await this.#client().listModels();
      this.picker.fill(cards, this.settings.model || this.settings.lastModel || undefined);
      announcer.textContent = `${cards.length} models online`;
    } catch (error) {
      this.picker.fill([]);
      find("chosen", HTMLElement).textContent = announcer.textContent = `No models: ${messageOf(error)}`;
    }
  }

  async send() {
    if (this.running || this.composer.isEmpty || !this.settings.form.reportValidity()) return;
    const entry = userMessage(this.composer.text, this.composer.images);
    if (!this.#draft().payload) return; // its hint is shown
    this.composer.set("", []);
    this.#addUser(entry);
    await this.answer();
  }

  /** Has the conversation as it stands answered, tool rounds included. */
  async answer() {
    const entries = this.turns.map(({ entry }) => entry);
    const { payload } = this.#build(history(this.settings.system, entries));
    if (!payload) return;
    const running = (this.running = new AbortController());
    this.#showRunning();
    try {
      const { isStopped } = await chatWithTools(this.#client(), payload, (call, parameters) => this.#run(call, parameters), {
        signal: running.signal,
        maxRounds: this.settings.maxRounds,
        chat: (body, watch) => this.#chat(body, watch),
        onResult: (call, content) => this.view?.showResult(call.id, content),
        onMessages: (messages) => this.#keep(messages),
      });
      if (isStopped) this.view?.note(`Stopped after ${this.settings.maxRounds} tool rounds. Write on to continue.`);
    } catch (error) {
      if (!running.signal.aborted && !(error instanceof ChatError)) throw error; // those are shown already
    } finally {
      this.running = null;
      this.#showRunning();
    }
  }

  /** One request of a turn, shown as it comes. @param {Payload} payload @param {Watch} watch @returns {Promise<Reply>} */
  async #chat(payload, watch) {
    const isWhole = this.settings.field("whole").checked;
    const sent = isWhole ? payload : { ...payload, stream: true, stream_options: { include_usage: true } };
    this.lastSent = sent;
    const view = (this.view = new ReplyView({
      onRetry: () => void this.retry(),
      onRequest: () => this.#showRequest(sent),
      isJson: "response_format" in payload && !payload.tools,
    }));
    this.shown.append(view.element);
    view.tell("Sending…");
    this.reply = null;
    const client = this.#client();
    const watching = this.#watching(view, watch);
    try {
      const reply = await (isWhole ? client.chatWhole(payload, watching) : client.chat(payload, watching));
      if (isWhole && reply.reasoning) view.reason(reply.reasoning);
      if (isWhole) view.write(reply.content);
      this.reply = reply;
      await view.finish(reply);
      this.#announce(reply.content || reply.horde?.notice || "The reply is a tool call");
      return reply;
    } catch (error) {
      await this.#end(view, error);
      throw error;
    }
  }

  /** @param {ReplyView} view @param {Watch} watch @returns {Watch} */
  #watching(view, watch) {
    return {
      signal: watch.signal,
      onContent: (text) => view.write(text),
      onReasoning: (text) => view.reason(text),
      onQueue: (queue) => (view.queued(queue), this.#announce(view.state.textContent ?? "")),
      onRetry: (seconds, error) => view.tell(`${error.message} Trying again in ${Math.ceil(seconds)} s…`),
    };
  }

  /** A reply that didn't come to its end. @param {ReplyView} view @param {unknown} error */
  async #end(view, error) {
    const details = { model: this.settings.model, reasoning: view.reasoningText.data };
    if (this.running?.signal.aborted) {
      const isLeftOut = view.text === "";
      this.turns.push({ entry: { role: "assistant", content: view.text, details, isLeftOut }, element: view.element });
      await view.stop();
      return;
    }
    const told = error instanceof ChatError ? error : new ChatError(`The page failed: ${messageOf(error)}`);
    const { message, code, status } = told;
    const entry = { role: "assistant", content: view.text, isLeftOut: true, details: { ...details, error: { message, code, status } } };
    this.turns.push({ entry, element: view.element });
    await view.fail(told);
  }

  /** @param {import("./chat-client.js").Message[]} messages a round's: the assistant's turn and its results */
  #keep(messages) {
    const { reply, view } = this;
    if (!reply || !view) return;
    const { reasoning, model, horde, usage, finishReason } = reply;
    const details = { reasoning, model, horde, usage, finish_reason: finishReason };
    for (const message of messages) {
      const entry = message.role === "assistant" ? { ...assistantMessage(reply), details } : message;
      this.turns.push({ entry, element: view.element });
    }
  }

  /** @param {import("./chat-client.js").ToolCall} call @param {any} parameters */
  async #run(call, parameters) {
    const signal = this.running?.signal;
    const isAsked = this.toolbox.needsConsent(call) && !this.settings.field("unasked").checked;
    if (isAsked && !(await this.view?.consent(call, signal))) throw new Error("The user declined this call.");
    return this.toolbox.run(call, parameters, signal);
  }

  /** Asks again: from where it failed, or for another reply to the last message. */
  async retry() {
    if (this.running) return;
    const last = this.turns.at(-1);
    if (last?.entry.isLeftOut) this.#dropFrom(this.turns.length - 1);
    else this.#dropFrom(this.turns.findLastIndex(({ entry }) => entry.role === "user") + 1);
    await this.answer();
  }

  /** @param {Entry} entry */
  #addUser(entry) {
    const edit = make("button", { type: "button", className: "quiet" }, "Edit");
    const images = imagesOf(entry).map(thumbnail);
    const text = make("div", { className: "text" }, textOf(entry));
    const actions = make("div", { className: "actions" }, edit);
    const element = make("article", { className: "turn user", "aria-label": "You" }, ...images, text, actions);
    const turn = { entry, element };
    edit.addEventListener("click", () => {
      if (this.running) return;
      this.#dropFrom(this.turns.indexOf(turn));
      this.composer.set(textOf(entry), imagesOf(entry));
      this.composer.draft.focus();
    });
    this.turns.push(turn);
    this.shown.append(element);
    find("welcome", HTMLElement).hidden = true;
  }

  /** @param {number} index */
  #dropFrom(index) {
    for (const { element } of this.turns.splice(Math.max(0, index))) element.remove();
    find("welcome", HTMLElement).hidden = this.turns.length > 0;
  }

  #client() {
    const { baseUrl, apiKey } = this.settings;
    return new ChatClient({ baseUrl, apiKey, title: TITLE });
  }

  /** The request that sending now would make. */
  #draft() {
    const entries = this.turns.map(({ entry }) => entry);
    const draft = this.composer.isEmpty ? [] : [userMessage(this.composer.text, this.composer.images)];
    return this.#build(history(this.settings.system, [...entries, ...draft]));
  }

  /**
   * @param {import("./chat-client.js").Message[]} messages
   * @returns {{payload: Payload | null, hints: string[]}} no payload when a setting can't be read
   */
  #build(messages) {
    try {
      return buildRequest(this.settings.read(), messages, this.toolbox.offered(), this.picker.card);
    } catch (error) {
      return { payload: null, hints: [messageOf(error)] };
    }
  }

  /** @param {Payload} [sent] what was sent; without it, what would be */
  #showRequest(sent) {
    const { payload } = this.#draft();
    const next = payload && { ...payload, stream: true };
    const shown = sent ?? (this.composer.isEmpty ? (this.lastSent ?? next) : next);
    if (shown) this.request.show(this.settings.baseUrl, shown, this.settings.apiKey !== "");
  }

  #showRunning() {
    find("stop", HTMLButtonElement).hidden = !this.running;
    find("send", HTMLButtonElement).hidden = this.running !== null;
    this.update();
  }

  /** For screen readers, which are told of whole replies rather than of each piece. @param {string} text */
  #announce(text) {
    find("announcer", HTMLElement).textContent = text.slice(0, 500);
  }

  #prepareButtons() {
    const on = (/** @type {string} */ id, /** @type {() => unknown} */ does) => find(id, HTMLButtonElement).addEventListener("click", does);
    on("stop", () => this.running?.abort());
    on("reload-models", () => this.loadModels());
    on("clear", () => this.running ?? (this.#dropFrom(0), this.composer.draft.focus()));
    on("show-request", () => this.#showRequest());
    on("export", () => this.#export());
    const file = find("import-file", HTMLInputElement);
    on("import", () => file.click());
    file.addEventListener("change", () => void this.#import(file));
    for (const name of ["base_url", "api_key"]) this.settings.field(name).addEventListener("change", () => this.loadModels());
    const suggestions = SUGGESTIONS.map((text) => make("button", { type: "button", className: "quiet" }, text));
    for (const button of suggestions) button.addEventListener("click", () => (this.composer.set(button.textContent ?? "", []), this.composer.draft.focus()));
    find("suggestions", HTMLElement).replaceChildren(...suggestions);
  }

  #prepareTools() {
    const state = find("mcp-state", HTMLElement);
    find("connect-mcp", HTMLButtonElement).addEventListener("click", async () => {
      state.textContent = "Connecting…";
      try {
        const { name, count } = await this.toolbox.connect(this.settings.field("mcp_url").value, this.settings.field("mcp_token").value);
        state.textContent = `${name}: ${count} tools`;
      } catch (error) {
        state.textContent = `Not connected: ${messageOf(error)}`;
      }
    });
  }

  #export() {
    const text = exported(this.settings.system, this.turns.map(({ entry }) => entry), new Date());
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    make("a", { href: url, download: "conversation.json" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  /** @param {HTMLInputElement} input */
  async #import(input) {
    const text = await input.files?.[0]?.text();
    input.value = "";
    if (text === undefined || this.running) return;
    try {
      const { system, entries } = imported(text);
      this.#dropFrom(0);
      this.settings.system = system;
      for (const entry of entries) await this.#restore(entry);
    } catch (error) {
      this.composer.hint([`Not imported. ${messageOf(error)}`]);
    }
  }

  /** @param {Entry} entry */
  async #restore(entry) {
    if (entry.role === "user") return this.#addUser(entry);
    if (entry.role === "assistant") {
      this.view = new ReplyView({ onRetry: () => void this.retry() });
      this.shown.append(this.view.element);
      await this.view.restore(entry);
    } else {
      this.view?.showResult(entry.tool_call_id ?? "", textOf(entry));
    }
    this.turns.push({ entry, element: this.view?.element ?? make("div") });
  }
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

preparePanel();
prepareFormat();
keepAtEnd(find("scroll", HTMLElement), find("conversation", HTMLElement));
void new Playground().loadModels();
