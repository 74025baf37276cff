/**
 * The conversation as values: what is sent of it, and how it is kept as a JSON file.
 *
 * An entry is a message as the front takes it, with `details` beside it for what is only shown. An
 * entry that `isLeftOut` (a reply that failed) is shown and exported, and never sent.
 */

/** @typedef {import("./chat-client.js").Message} Message */
/** @typedef {Message & {details?: Record<string, any>, isLeftOut?: boolean}} Entry */

const FORMAT = "horde-chat-conversation";
const VERSION = 1;
const ROLES = ["user", "assistant", "tool"];
const IMAGE = /^(?:data:image\/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+=*|https?:\/\/\S+)$/;

/**
 * The messages to send.
 * @param {string} system
 * @param {Entry[]} entries
 * @returns {Message[]}
 */
export function history(system, entries) {
  const messages = entries.filter((entry) => !entry.isLeftOut).map(({ details, isLeftOut, ...message }) => message);
  return system.trim() ? [{ role: "system", content: system }, ...messages] : messages;
}

/**
 * A user's message: text alone, or parts when there are images.
 * @param {string} text
 * @param {string[]} images data or http(s) URLs
 * @returns {Message}
 */
export function userMessage(text, images) {
  if (!images.length) return { role: "user", content: text };
  const parts = images.map((url) => ({ type: "image_url", image_url: { url } }));
  return { role: "user", content: [...(text ? [{ type: "text", text }] : []), ...parts] };
}

/** The text of a message. @param {Message} message @returns {string} */
export function textOf({ content }) {
  if (!Array.isArray(content)) return content ?? "";
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

/** The URLs of a message's images. @param {Message} message @returns {string[]} */
export function imagesOf({ content }) {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
}

/**
 * @param {string} system
 * @param {Entry[]} entries
 * @param {Date} now
 * @returns {string} the file's text; no key is in it
 */
export function exported(system, entries, now) {
  const kept = { format: FORMAT, version: VERSION, exported_at: now.toISOString(), system, messages: entries };
  return JSON.stringify(kept, null, 2);
}

/**
 * Reads an exported conversation. A bare list of OpenAI messages is taken as well.
 * @param {string} text
 * @returns {{system: string, entries: Entry[]}}
 * @throws {Error} with what is wrong and where, for the user to read
 */
export function imported(text) {
  const file = JSON.parse(text);
  if (!Array.isArray(file) && file?.format !== FORMAT) throw new Error("This is no exported conversation.");
  if (!Array.isArray(file) && file.version !== VERSION) throw new Error(`Version ${file.version} is not known here.`);
  const messages = Array.isArray(file) ? file : file.messages;
  if (!Array.isArray(messages)) throw new Error("The file has no messages.");
  const isSystem = (/** @type {any} */ message) => ["system", "developer"].includes(message?.role);
  const systems = messages.filter(isSystem).map(textOf);
  const entries = messages.filter((message) => !isSystem(message)).map(checkedEntry);
  return { system: [file.system, ...systems].filter(Boolean).join("\n\n"), entries };
}

/**
 * @param {any} message
 * @param {number} index
 * @returns {Entry}
 */
function checkedEntry(message, index) {
  const wrong = (/** @type {string} */ what) => new Error(`Message ${index + 1} ${what}.`);
  if (!ROLES.includes(message?.role)) throw wrong("has no role that is known");
  const { role, content = null } = message;
  if (content !== null && typeof content !== "string" && !isParts(content)) throw wrong("has no readable content");
  /** @type {Entry} */
  const entry = { role, content };
  if (message.isLeftOut === true) entry.isLeftOut = true;
  if (message.details && typeof message.details === "object") entry.details = message.details;
  if (role === "tool") {
    if (typeof message.tool_call_id !== "string") throw wrong("answers no call");
    entry.tool_call_id = message.tool_call_id;
  }
  if (role === "assistant" && Array.isArray(message.tool_calls) && message.tool_calls.length) {
    if (!message.tool_calls.every(isCall)) throw wrong("has a call that can't be read");
    entry.tool_calls = message.tool_calls;
  }
  return entry;
}

/** @param {any} content */
const isParts = (content) =>
  Array.isArray(content) &&
  content.every(
    (part) =>
      (part?.type === "text" && typeof part.text === "string") ||
      (part?.type === "image_url" && IMAGE.test(part.image_url?.url)),
  );

/** @param {any} call */
const isCall = (call) =>
  [call?.id, call?.function?.name, call?.function?.arguments].every((value) => typeof value === "string");
