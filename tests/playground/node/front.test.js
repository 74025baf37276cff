/** The client in Node against a front that runs: `FRONT_URL=http://…/v1 node --test front.test.js`. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { ChatClient, chatWithTools } from "../../../adapters/horde_adapters/web/chat-client.js";

const baseUrl = process.env.FRONT_URL;
const options = baseUrl ? {} : { skip: "FRONT_URL names no front" };
const client = new ChatClient({ baseUrl: baseUrl ?? "", apiKey: "rich-key", title: "node-test" });
const PLAIN = "koboldcpp/Llama-3.2-3B-Instruct";
const QWEN = "koboldcpp/Qwen3-8B";
const hi = [{ role: "user", content: "Hi" }];

it("lists the models that are online", options, async () => {
  const ids = (await client.listModels()).map(({ id }) => id);
  assert.ok(ids.includes(PLAIN) && ids.includes(QWEN));
});

it("streams a reply and knows who served it", options, async () => {
  let text = "";
  const reply = await client.chat({ model: PLAIN, messages: hi, max_tokens: 64 }, { onContent: (more) => (text += more) });
  assert.equal(reply.content, text);
  assert.ok(text.length > 0);
  assert.deepEqual([reply.model, reply.horde.worker_name], [PLAIN, "Attic Llama"]);
  assert.ok(reply.usage.completion_tokens > 0);
});

it("runs a tool round", options, async () => {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const tools = [{ type: "function", function: { name: "get_weather", description: "Current weather in a city", parameters } }];
  const payload = { model: QWEN, messages: [{ role: "user", content: "What is the weather in Bergen?" }], tools, max_tokens: 256 };
  const { reply, rounds } = await chatWithTools(client, payload, async (_, { city }) => `It rains in ${city} at 9 degrees`);
  assert.equal(rounds, 1);
  assert.match(reply.content, /9 degrees/);
});

it("is told of a refusal, and that it is safe to correct", options, async () => {
  await assert.rejects(client.chat({ model: PLAIN, messages: hi, min_p: 0.1 }), { code: "UnsupportedChatParameter", param: "min_p", status: 400, isRetrySafe: true });
});

it("has the job cancelled when it is stopped", options, async () => {
  const controller = new AbortController();
  const chat = client.chat({ model: QWEN, messages: hi }, { signal: controller.signal, onReasoning: () => controller.abort() });
  await assert.rejects(chat, { name: "AbortError" });
});
