import assert from "node:assert/strict";
import { it } from "node:test";
import { ChatClient, chatWithTools } from "../../../adapters/horde_adapters/web/chat-client.js";
import { answering, chunk, DONE, event, streamed } from "./replies.js";

const PAYLOAD = { model: "m", messages: [{ role: "user", content: "Hi" }], tools: [{ type: "function", function: { name: "add" } }] };
const calls = (...given) => () =>
  streamed([chunk({ tool_calls: given.map(([id, text], index) => ({ index, id, type: "function", function: { name: "add", arguments: text } })) }), DONE]);
const text = (content) => () => streamed([chunk({ content }), DONE]);

const client = (...answers) => {
  const { fetch, asked } = answering(...answers);
  return [new ChatClient({ baseUrl: "http://front/v1", fetch }), asked];
};

it("runs the calls, sends the history again and ends with the text", async () => {
  const [chat, asked] = client(calls(["a", '{"x":1}'], ["b", '{"x":2}']), text("Three."));
  const results = [];
  const { reply, messages, rounds, isStopped } = await chatWithTools(chat, PAYLOAD, async (_, { x }) => ({ sum: x }), {
    onResult: ({ id }, content) => results.push([id, content]),
  });
  assert.deepEqual([reply.content, rounds, isStopped], ["Three.", 1, false]);
  assert.deepEqual(results, [["a", '{"sum":1}'], ["b", '{"sum":2}']]);
  assert.deepEqual(messages.map(({ role, content, tool_call_id: id }) => [role, content, id]), [
    ["assistant", null, undefined],
    ["tool", '{"sum":1}', "a"],
    ["tool", '{"sum":2}', "b"],
    ["assistant", "Three.", undefined],
  ]);
  assert.deepEqual(asked[1].body.messages, [...PAYLOAD.messages, ...messages.slice(0, 3)]);
  assert.deepEqual(asked[1].body.tools, PAYLOAD.tools);
  assert.equal(PAYLOAD.messages.length, 1);
});

it("tells the model what failed: a tool, and arguments that aren't JSON", async () => {
  const [chat, asked] = client(calls(["a", "{}"], ["b", "{oops"]), text("Sorry."));
  await chatWithTools(chat, PAYLOAD, async () => { throw new Error("no network"); });
  const [first, second] = asked[1].body.messages.slice(2);
  assert.equal(first.content, "Error: no network");
  assert.match(second.content, /^Error: .*JSON/);
});

it("stops at the stated number of rounds, with every call answered", async () => {
  const [chat, asked] = client(...Array(3).fill(calls(["a", "{}"])));
  const { rounds, isStopped, messages } = await chatWithTools(chat, PAYLOAD, async () => "ok", { maxRounds: 2 });
  assert.deepEqual([rounds, isStopped, asked.length], [2, true, 3]);
  assert.deepEqual(messages.filter(({ role }) => role === "tool").map(({ content }) => content), ["ok", "ok", "Not run: the limit of 2 tool rounds is reached."]);
});

it("stopped by the user, leaves no call open", async () => {
  const controller = new AbortController();
  const [chat, asked] = client(calls(["a", "{}"], ["b", "{}"]));
  const kept = [];
  const run = async () => { controller.abort(); return "ok"; };
  await assert.rejects(chatWithTools(chat, PAYLOAD, run, { signal: controller.signal, onMessages: (turn) => kept.push(...turn) }), { name: "AbortError" });
  assert.deepEqual(kept.map(({ content }) => content), [null, "ok", "Not run: the user stopped the reply."]);
  assert.equal(asked.length, 1);
});

it("passes an error inside a later round on, with the earlier rounds told", async () => {
  const [chat] = client(calls(["a", "{}"]), () => streamed([event({ error: { message: "Faulted.", code: "ChatRequestFaulted" } }), DONE]));
  const kept = [];
  await assert.rejects(chatWithTools(chat, PAYLOAD, async () => "ok", { onMessages: (turn) => kept.push(...turn) }), { code: "ChatRequestFaulted" });
  assert.deepEqual(kept.map(({ role }) => role), ["assistant", "tool"]);
});
