/**
 * A client for an MCP server over streamable HTTP (specification 2025-06-18), as far as tools go.
 *
 * The server has to allow the page's origin and expose `Mcp-Session-Id` (CORS).
 * @module
 */
import { readEvents } from "./chat-client.js";

const VERSION = "2025-06-18";

/** @typedef {{name: string, description?: string, inputSchema: object}} McpTool */

/** The server's own refusal, or an answer that isn't MCP. */
export class McpError extends Error {}

export class McpClient {
  #session = "";
  #version = "";
  #lastId = 0;

  /** @param {{url: string, token?: string, fetch?: typeof fetch}} options */
  constructor({ url, token = "", fetch = globalThis.fetch.bind(globalThis) }) {
    this.url = url;
    this.token = token;
    this.fetch = fetch;
    this.serverName = "";
  }

  /** Opens a session. @param {AbortSignal} [signal] */
  async connect(signal) {
    const clientInfo = { name: "horde-chat-playground", version: "1" };
    const asked = { protocolVersion: VERSION, capabilities: {}, clientInfo };
    this.#session = this.#version = "";
    const answer = await this.#call("initialize", asked, signal);
    this.#version = answer.protocolVersion;
    this.serverName = answer.serverInfo?.name ?? this.url;
    await this.#post({ method: "notifications/initialized" }, signal);
  }

  /** All tools, page by page. @param {AbortSignal} [signal] @returns {Promise<McpTool[]>} */
  async listTools(signal) {
    const tools = [];
    let cursor;
    do {
      const page = await this.#call("tools/list", cursor ? { cursor } : {}, signal);
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor);
    return tools;
  }

  /**
   * Runs a tool.
   * @param {string} name
   * @param {any} parameters
   * @param {AbortSignal} [signal]
   * @returns {Promise<string>} its result, as a tool message's content
   * @throws {McpError} with the tool's words when it failed
   */
  async callTool(name, parameters, signal) {
    const result = await this.#call("tools/call", { name, arguments: parameters }, signal);
    const text = resultText(result);
    if (result.isError) throw new McpError(text);
    return text;
  }

  /** Ends the session, as far as the server lets itself be told. */
  async close() {
    if (!this.#session) return;
    await this.fetch(this.url, { method: "DELETE", headers: this.#headers() }).catch(() => {});
    this.#session = "";
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async #call(method, params, signal) {
    const id = (this.#lastId += 1);
    const answer = await this.#answer(await this.#post({ id, method, params }, signal), id);
    if (answer.error) throw new McpError(answer.error.message ?? "The server refused without a reason.");
    return answer.result;
  }

  /** @param {object} message @param {AbortSignal} [signal] */
  async #post(message, signal) {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const response = await this.fetch(this.url, { method: "POST", headers: this.#headers(), body, signal });
    if (!response.ok) throw new McpError(`The tool server answered with status ${response.status}.`);
    this.#session = response.headers.get("mcp-session-id") ?? this.#session;
    return response;
  }

  /** The answer to a call: the body, or the event that has its id among others. @param {Response} response @param {number} id */
  async #answer(response, id) {
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response.json();
    for await (const { data } of readEvents(response)) {
      const message = data ? JSON.parse(data) : {};
      if (message.id === id && !message.method) return message;
    }
    throw new McpError("The tool server's stream ended without an answer.");
  }

  #headers() {
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    if (this.#session) headers["Mcp-Session-Id"] = this.#session;
    if (this.#version) headers["MCP-Protocol-Version"] = this.#version;
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    return headers;
  }
}

/**
 * A tool message holds text alone, so other content is named.
 * @param {{content?: any[], structuredContent?: any}} result
 */
function resultText({ content = [], structuredContent }) {
  const texts = content.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "resource") return part.resource?.text ?? `[resource ${part.resource?.uri}]`;
    return `[${part.type} ${part.mimeType ?? part.uri ?? ""}]`;
  });
  return texts.length || structuredContent === undefined ? texts.join("\n") : JSON.stringify(structuredContent);
}
