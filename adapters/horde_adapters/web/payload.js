/** From the settings to a request: pure values, so that what is shown, copied and sent is the same. */
import { clampMaxTokens, missingAbilities } from "./chat-client.js";

/** @typedef {import("./chat-client.js").Message} Message */
/** @typedef {import("./chat-client.js").Payload} Payload */
/** @typedef {import("./chat-client.js").Tool} Tool */

/**
 * @typedef {object} Settings
 * @property {string} model
 * @property {Record<string, any>} keys request keys that the user set; those of `horde` as `horde.<key>`
 * @property {string} format "", `json_object` or `json_schema`
 * @property {string} schema
 * @property {string} extra more keys, as a JSON object
 */

const ABILITY_TEXTS = /** @type {Record<string, string>} */ ({
  images: "None of this model's workers takes images.",
  tools: "None of this model's workers takes tools, so none are sent.",
  parallel_tool_calls: "None of this model's workers declares parallel tool calls.",
  response_format: "None of this model's workers serves structured replies.",
  reasoning_effort: "None of this model's workers declares a reasoning effort.",
});

/**
 * @param {Settings} settings
 * @param {Message[]} messages
 * @param {Tool[]} tools
 * @param {any} card the model's, or undefined
 * @returns {{payload: Payload, hints: string[]}} `hints` tell the user, before sending, what was
 *   changed and what no worker can serve
 * @throws {Error} for JSON that can't be read, in words for the user
 */
export function buildRequest(settings, messages, tools, card) {
  /** @type {Payload} */
  const payload = { model: settings.model, messages };
  /** @type {Record<string, any>} */
  const horde = {};
  for (const [key, value] of Object.entries(settings.keys)) {
    if (key.startsWith("horde.")) horde[key.slice(6)] = value;
    else payload[key] = value;
  }
  if (Object.keys(horde).length) payload.horde = horde;
  if (settings.format === "json_object") payload.response_format = { type: "json_object" };
  if (settings.format === "json_schema") {
    const schema = readObject(settings.schema, "The JSON schema");
    payload.response_format = { type: "json_schema", json_schema: { name: "reply", strict: true, schema } };
  }
  if (tools.length) payload.tools = tools;
  const hints = adapt(payload, card);
  return { payload: { ...payload, ...readObject(settings.extra || "{}", "More keys") }, hints };
}

/**
 * Fits a request to the model's card and tells what the user should know.
 * @param {Payload} payload
 * @param {any} card
 */
function adapt(payload, card) {
  const hints = [];
  const missing = missingAbilities(payload, card);
  if (missing.includes("tools")) delete payload.tools;
  if (!payload.tools) {
    delete payload.tool_choice; // refused without tools
    delete payload.parallel_tool_calls;
  }
  for (const ability of missing) {
    if (ability !== "parallel_tool_calls" || payload.tools) hints.push(ABILITY_TEXTS[ability]);
  }
  if (payload.max_tokens !== undefined) {
    const { maxTokens, servedMax, isLowered } = clampMaxTokens(payload.max_tokens, card);
    payload.max_tokens = maxTokens;
    if (isLowered) hints.push(`This model's workers serve at most ${servedMax} tokens per reply.`);
  }
  return hints;
}

/**
 * @param {string} text
 * @param {string} what
 * @returns {Record<string, any>}
 */
function readObject(text, what) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} can't be read: ${/** @type {Error} */ (error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${what} is no object.`);
  return value;
}
