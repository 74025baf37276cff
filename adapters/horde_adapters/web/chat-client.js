/**
 * A client for the chat front, straight from a browser (or Node 18 and later), without dependencies.
 *
 *     const client = new ChatClient({ baseUrl: "https://oai.aihorde.net/v1", apiKey, title: "My app" });
 *     const reply = await client.chat(
 *       { model, messages },
 *       { onContent: (text) => show(text), signal },
 *     );
 *
 * `chat` reads a whole stream and resolves to what it said; it rejects with a ChatError for a
 * refusal before the stream, an error inside it and a stream that was cut. Aborting the signal
 * closes the connection, upon which the front cancels the job; it rejects with an AbortError.
 * `chatWithTools` repeats that until the model calls no more tools.
 *
 * @module
 */

/** @typedef {{id: string, type: "function", function: {name: string, arguments: string}}} ToolCall */
/** @typedef {{type: "function", function: {name: string, description?: string, parameters?: object}}} Tool */
/** @typedef {{role: string, content?: any, tool_calls?: ToolCall[], tool_call_id?: string, name?: string}} Message */
/** @typedef {{model?: string, messages: Message[], tools?: Tool[], max_tokens?: number, [key: string]: any}} Payload */
/** @typedef {{position: number, waitTime: number}} Queue A place in the queue, and estimated seconds. */

/**
 * @typedef {object} Choice One reply; a request with `n` gets several.
 * @property {string} content
 * @property {string} reasoning
 * @property {ToolCall[]} calls
 * @property {string | null} finishReason null until the finish chunk has come
 * @property {string | null} nativeFinishReason the worker's own word
 */

/**
 * @typedef {Choice & {id: string | null, model: string | null, usage: any, horde: any, choices: Choice[]}} Reply
 * The first choice's fields stand on the reply itself. `model` is the one that generated it, `horde`
 * the front's `x_horde`: worker, kudos, context adjustments, notice.
 */

/**
 * @typedef {object} Watch What to tell while a reply comes.
 * @property {AbortSignal} [signal]
 * @property {(text: string, index: number) => void} [onContent] new text, and its choice's index
 * @property {(text: string, index: number) => void} [onReasoning]
 * @property {(queue: Queue) => void} [onQueue]
 * @property {(reply: Reply) => void} [onServed] the serving model is known, before any text
 * @property {(seconds: number, error: ChatError) => void} [onRetry] asks again in so many seconds
 */

/** What went wrong, with all that the front says about it. */
export class ChatError extends Error {
  /** @type {string | null} the front's code, or `unreachable` or `stream_cut` */ code = null;
  /** @type {string | null} */ type = null;
  /** @type {string | null} the key at fault, as a path */ param = null;
  /** @type {any} the Horde's request id and return code where known, and more for some codes */ metadata = {};
  /** The HTTP status: 200 for an error inside a stream, 0 without an answer. */
  status = 0;
  /** Whether the Horde never held the request, so that a resend can't be a second charged job. */
  isRetrySafe = false;
  /** @type {number | null} seconds that the front asks to wait before a retry */ retryAfter = null;
  /** @type {Reply | null} what had come of the reply: to be discarded, or shown as cut short */ partial = null;

  /** @param {string} message @param {Partial<ChatError>} [details] */
  constructor(message, details = {}) {
    super(message);
    Object.assign(this, details, { name: "ChatError" });
  }
}

export class ChatClient {
  /**
   * @param {object} options
   * @param {string} options.baseUrl with `/v1`
   * @param {string} [options.apiKey] none, or an empty one: anonymous
   * @param {string} [options.title] the application, for the Horde's statistics
   * @param {number} [options.retries] how often a refusal that is safe to retry is tried again
   * @param {typeof fetch} [options.fetch]
   */
  constructor({ baseUrl, apiKey = "", title = "", retries = 2, fetch = globalThis.fetch.bind(globalThis) }) {
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.retries = retries;
    /** @type {Record<string, string>} */
    this.headers = {};
    if (apiKey) this.headers.Authorization = `Bearer ${apiKey}`;
    if (title) this.headers["X-Title"] = title;
    this.fetch = fetch;
  }

  /** The cards of the models that have a worker online. @param {{signal?: AbortSignal}} [options] @returns {Promise<any[]>} */
  async listModels({ signal } = {}) {
    const response = await this.#ask("/models", { headers: this.headers, signal });
    return (await response.json()).data;
  }

  /**
   * Sends a chat request as a stream and reads the reply to its end.
   * @param {Payload} payload sent as it is, with `stream` and `stream_options` added
   * @param {Watch} [watch]
   * @returns {Promise<Reply>}
   */
  async chat(payload, watch = {}) {
    const whole = { ...payload, stream: true, stream_options: { include_usage: true } };
    return readReply(await this.#send(whole, watch), watch);
  }

  /**
   * Sends a chat request and waits for the whole reply.
   * @param {Payload} payload
   * @param {Watch} [watch] of which only the signal and `onRetry` have a use
   * @returns {Promise<Reply>}
   */
  async chatWhole(payload, watch = {}) {
    const completion = await (await this.#send(payload, watch)).json();
    const reply = emptyReply();
    const choices = completion.choices.map((/** @type {any} */ choice) => ({ ...choice, delta: choice.message }));
    takeChunk(reply, { ...completion, choices }, {});
    return reply;
  }

  /** @param {Payload} payload @param {Watch} watch */
  async #send(payload, { signal, onRetry }) {
    const headers = { "Content-Type": "application/json", ...this.headers };
    const body = JSON.stringify(payload);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#ask("/chat/completions", { method: "POST", headers, body, signal });
      } catch (error) {
        if (!(error instanceof ChatError) || attempt >= this.retries || !passesWithTime(error)) throw error;
        const seconds = error.retryAfter ?? 2 ** attempt;
        onRetry?.(seconds, error);
        await pause(seconds, signal);
      }
    }
  }

  /** @param {string} path @param {RequestInit} request */
  async #ask(path, request) {
    let response;
    try {
      response = await this.fetch(this.baseUrl + path, request);
    } catch (error) {
      if (request.signal?.aborted) throw error;
      // Without an answer nobody knows how far the request came.
      throw new ChatError(`${this.baseUrl} could not be reached.`, { code: "unreachable", cause: error });
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

/**
 * Reads a streamed reply. Takes content and tool calls from every chunk, whichever come together.
 * @param {Response} response an accepted one (`response.ok`)
 * @param {Watch} [watch]
 * @returns {Promise<Reply>}
 */
export async function readReply(response, watch = {}) {
  const reply = emptyReply();
  const status = response.status;
  try {
    for await (const event of readEvents(response)) {
      watch.signal?.throwIfAborted(); // also of what came in one piece with what made the user stop
      if (event.comment !== undefined) {
        const place = /^horde queue_position=(\d+) wait_time=(\d+)/.exec(event.comment);
        if (place) watch.onQueue?.({ position: Number(place[1]), waitTime: Number(place[2]) });
      } else if (event.data === "[DONE]") {
        return reply;
      } else {
        const chunk = JSON.parse(event.data);
        if (chunk.error) throw new ChatError(chunk.error.message, { ...told(chunk.error), status, partial: reply });
        takeChunk(reply, chunk, watch);
      }
    }
  } catch (error) {
    if (error instanceof ChatError || watch.signal?.aborted) throw error;
    throw new ChatError("The reply's stream broke.", { code: "stream_cut", status, partial: reply, cause: error });
  }
  throw new ChatError("The reply's stream ended before [DONE].", { code: "stream_cut", status, partial: reply });
}

/**
 * Reads server-sent events: each is a comment's text or an event's data.
 * @param {Response} response
 * @returns {AsyncGenerator<{comment: string, data?: undefined} | {data: string, comment?: undefined}>}
 */
export async function* readEvents(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  /** @type {string[]} */
  let data = [];
  try {
    for (let done = false; !done; ) {
      const read = await reader.read();
      done = read.done;
      rest += done ? decoder.decode() + "\n\n" : decoder.decode(read.value, { stream: true });
      // A CR at the very end may be half a line end, so it waits for what follows.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = /** @type {string} */ (lines.pop());
      for (const line of lines) {
        if (line === "" && data.length) {
          yield { data: data.join("\n") };
          data = [];
        } else if (line.startsWith(":")) {
          yield { comment: line.slice(1).trim() };
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => {}); // it may have failed already, which was told above
  }
}

/**
 * Keeps `max_tokens` within what the model's workers serve.
 * @param {number} wanted
 * @param {any} card the model's, or undefined when no worker is online
 * @returns {{maxTokens: number, servedMax: number | null, isLowered: boolean}}
 */
export function clampMaxTokens(wanted, card) {
  const servedMax = card?.top_provider?.max_completion_tokens ?? null;
  const maxTokens = Math.max(16, servedMax === null ? wanted : Math.min(wanted, servedMax));
  return { maxTokens, servedMax, isLowered: maxTokens < wanted };
}

/**
 * What a request asks for that none of the model's workers declares: `images`, `tools`, and the
 * names of request keys. Empty for a model without a card, of which nothing is known.
 * @param {Payload} payload
 * @param {any} card
 * @returns {string[]}
 */
export function missingAbilities(payload, card) {
  if (!card) return [];
  const known = card.supported_parameters ?? [];
  const missing = [];
  const hasImages = payload.messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.type === "image_url"),
  );
  if (hasImages && !card.architecture?.input_modalities?.includes("image")) missing.push("images");
  for (const key of ["tools", "parallel_tool_calls", "response_format", "reasoning_effort"]) {
    if (payload[key] !== undefined && !known.includes(key)) missing.push(key);
  }
  return missing;
}

/** An MCP server's tools as a request offers them, one to one. @param {{name: string, description?: string, inputSchema: object}[]} mcpTools @returns {Tool[]} */
export function toolsFromMcp(mcpTools) {
  return mcpTools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
}

/**
 * Chats, runs the calls and chats again, until a reply has no calls or the rounds are used up.
 *
 * `payload.messages` is left as it is; `messages` of the result is what to append to it: each
 * assistant turn and exactly one result for each of its calls, whatever happened (the front refuses
 * a history with a call left open). Rejects as `chat` does; `onMessages` then has told what came before.
 *
 * @param {ChatClient} client
 * @param {Payload} payload
 * @param {(call: ToolCall, parameters: any) => Promise<unknown>} run gives a call's result; what it
 *   throws is told to the model as the result
 * @param {Watch & {maxRounds?: number, onReply?: (reply: Reply) => void, onResult?: (call: ToolCall, content: string) => void,
 *   onMessages?: (messages: Message[]) => void, chat?: (payload: Payload, watch: Watch) => Promise<Reply>}} [watch]
 * @returns {Promise<{reply: Reply, messages: Message[], rounds: number, isStopped: boolean}>} `isStopped`:
 *   the model would have gone on calling
 */
export async function chatWithTools(client, payload, run, watch = {}) {
  const { maxRounds = 8, chat = client.chat.bind(client) } = watch;
  /** @type {Message[]} */
  const messages = [];
  for (let rounds = 0; ; rounds += 1) {
    const reply = await chat({ ...payload, messages: [...payload.messages, ...messages] }, watch);
    watch.onReply?.(reply);
    const isStopped = reply.calls.length > 0 && rounds >= maxRounds;
    const turn = [assistantMessage(reply)];
    for (const call of reply.calls) {
      const content = isStopped
        ? `Not run: the limit of ${maxRounds} tool rounds is reached.`
        : await resultOf(call, run, watch.signal);
      watch.onResult?.(call, content);
      turn.push({ role: "tool", tool_call_id: call.id, content });
    }
    messages.push(...turn);
    watch.onMessages?.(turn);
    watch.signal?.throwIfAborted();
    if (isStopped || !reply.calls.length) return { reply, messages, rounds, isStopped };
  }
}

/** A reply as it stands in the next request's history. @param {Choice} reply @returns {Message} */
export function assistantMessage(reply) {
  if (!reply.calls.length) return { role: "assistant", content: reply.content };
  return { role: "assistant", content: reply.content || null, tool_calls: reply.calls };
}

/** @param {ToolCall} call @param {(call: ToolCall, parameters: any) => Promise<unknown>} run @param {AbortSignal} [signal] */
async function resultOf(call, run, signal) {
  if (signal?.aborted) return "Not run: the user stopped the reply.";
  try {
    const result = await run(call, JSON.parse(call.function.arguments));
    return typeof result === "string" ? result : JSON.stringify(result ?? null);
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : error}`;
  }
}

/** @returns {Choice} */
const emptyChoice = () => ({ content: "", reasoning: "", calls: [], finishReason: null, nativeFinishReason: null });

/** @returns {Reply} */
function emptyReply() {
  const first = emptyChoice();
  const reply = { ...first, choices: [first], id: null, model: null, usage: null, horde: null };
  for (const key of /** @type {(keyof Choice)[]} */ (Object.keys(first))) {
    Object.defineProperty(reply, key, { enumerable: true, get: () => first[key] });
  }
  return reply;
}

/** @param {Reply} reply @param {any} chunk @param {Watch} watch */
function takeChunk(reply, chunk, watch) {
  reply.id = chunk.id ?? reply.id;
  reply.usage = chunk.usage ?? reply.usage;
  reply.horde = chunk.x_horde ?? reply.horde;
  if (chunk.model && chunk.model !== reply.model) {
    reply.model = chunk.model;
    watch.onServed?.(reply);
  }
  for (const { index = 0, delta = {}, ...ending } of chunk.choices ?? []) {
    const choice = (reply.choices[index] ??= emptyChoice());
    if (delta.reasoning_content) {
      choice.reasoning += delta.reasoning_content;
      watch.onReasoning?.(delta.reasoning_content, index);
    }
    if (delta.content) {
      choice.content += delta.content;
      watch.onContent?.(delta.content, index);
    }
    (delta.tool_calls ?? []).forEach((/** @type {any} */ part, /** @type {number} */ place) => takeCall(choice.calls, part, place));
    choice.finishReason = ending.finish_reason ?? choice.finishReason;
    choice.nativeFinishReason = ending.native_finish_reason ?? choice.nativeFinishReason;
  }
}

/** Calls come whole or in fragments, by index; those of a whole reply have none. @param {ToolCall[]} calls @param {any} part @param {number} place */
function takeCall(calls, part, place) {
  const call = (calls[part.index ?? place] ??= { id: "", type: "function", function: { name: "", arguments: "" } });
  if (part.id) call.id = part.id;
  call.function.name += part.function?.name ?? "";
  call.function.arguments += part.function?.arguments ?? "";
}

/**
 * A refusal before the stream. It is safe to retry when the front itself says so by leaving
 * `x-should-retry` out; an answer that isn't the front's (a proxy's page) proves nothing.
 * @param {Response} response
 */
async function refusal(response) {
  const text = await response.text().catch(() => "");
  let error = null;
  try {
    error = JSON.parse(text).error;
  } catch {
    // not the front's envelope
  }
  const retryAfter = Number.parseFloat(response.headers.get("retry-after") ?? "");
  return new ChatError(error?.message ?? `The chat request failed with status ${response.status}.`, {
    ...told(error),
    status: response.status,
    isRetrySafe: Boolean(error?.message) && response.headers.get("x-should-retry") !== "false",
    retryAfter: Number.isNaN(retryAfter) ? null : retryAfter,
  });
}

/** @param {any} error an envelope's, if there is one */
const told = (error) => ({
  code: error?.code ?? null,
  type: error?.type ?? null,
  param: error?.param ?? null,
  metadata: error?.metadata ?? {},
});

/** Whether the same request may be served a little later. @param {ChatError} error */
const passesWithTime = (error) => error.isRetrySafe && (error.status === 429 || error.status >= 500);

/** @param {number} seconds @param {AbortSignal} [signal] @returns {Promise<void>} */
function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
