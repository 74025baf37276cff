/** The tools that a request offers, those of the page and those of an MCP server, and their panel. */
import { toolsFromMcp } from "./chat-client.js";
import { DEMO_TOOLS } from "./demo-tools.js";
import { find, make } from "./dom.js";
import { McpClient } from "./mcp-client.js";

/** @typedef {import("./chat-client.js").Tool} Tool */
/** @typedef {import("./chat-client.js").ToolCall} ToolCall */
/** @typedef {{tool: Tool, box: HTMLInputElement, isServers: boolean, run: (parameters: any, signal?: AbortSignal) => unknown}} Offer */

const NAME = /^[A-Za-z0-9_-]{1,64}$/; // what the front takes (contract of OpenAI's tools)

export class Toolbox {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {McpClient | null} */
    this.server = null;
    this.demo = DEMO_TOOLS.map(({ run, ...described }) => this.#offer({ type: "function", function: described }, run, false));
    /** @type {Offer[]} */
    this.remote = [];
    find("demo-tools", HTMLElement).append(...this.demo.map(({ tool, box }) => row(tool, box)));
  }

  /** What to send as `tools`. @returns {Tool[]} */
  offered() {
    return this.#chosen().map(({ tool }) => tool);
  }

  /** Whether the user is to be asked: an MCP server's tool may do anything. @param {ToolCall} call */
  needsConsent(call) {
    return this.#chosen().some(({ tool, isServers }) => isServers && tool.function.name === call.function.name);
  }

  /** @param {ToolCall} call @param {any} parameters @param {AbortSignal} [signal] */
  async run(call, parameters, signal) {
    const offer = this.#chosen().find(({ tool }) => tool.function.name === call.function.name);
    if (!offer) throw new Error(`There is no tool ${call.function.name}.`);
    return offer.run(parameters, signal);
  }

  /** Connects to an MCP server and shows its tools, all chosen. @param {string} url @param {string} token */
  async connect(url, token) {
    await this.disconnect();
    const server = new McpClient({ url, token });
    await server.connect();
    const listed = await server.listTools();
    this.server = server;
    this.remote = toolsFromMcp(listed).map((tool) =>
      this.#offer(tool, (parameters, signal) => server.callTool(tool.function.name, parameters, signal), true),
    );
    this.remote.forEach((offer) => this.#admit(offer));
    find("mcp-tools", HTMLElement).replaceChildren(...this.remote.map(({ tool, box }) => row(tool, box)));
    this.onChange();
    return { name: server.serverName, count: listed.length };
  }

  async disconnect() {
    const server = this.server;
    this.server = null;
    this.remote = [];
    find("mcp-tools", HTMLElement).replaceChildren();
    this.onChange();
    await server?.close();
  }

  #chosen() {
    return [...this.demo, ...this.remote].filter(({ box }) => box.checked);
  }

  /** A tool that the front would refuse, or whose name is taken, is shown and can't be chosen. @param {Offer} offer */
  #admit({ tool, box }) {
    const { name } = tool.function;
    const isTaken = this.demo.some((other) => other.tool.function.name === name);
    box.disabled = isTaken || !NAME.test(name);
    box.checked = !box.disabled;
    if (box.disabled) box.title = isTaken ? "A demo tool has this name." : "The name has characters that no front takes.";
  }

  /** @param {Tool} tool @param {Offer["run"]} run @param {boolean} isServers @returns {Offer} */
  #offer(tool, run, isServers) {
    const box = make("input", { type: "checkbox", value: tool.function.name });
    box.addEventListener("change", () => this.onChange());
    return { tool, box, run, isServers };
  }
}

/** @param {Tool} tool @param {HTMLInputElement} box */
function row(tool, box) {
  const { name, description = "" } = tool.function;
  const told = [description, box.title].filter(Boolean).join(" ");
  return make("label", { className: "check tool" }, box, make("span", {}, make("code", {}, name), " ", make("small", {}, told)));
}
