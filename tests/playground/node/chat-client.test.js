import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChatClient, ChatError, clampMaxTokens, missingAbilities, readEvents, readReply, toolsFromMcp } from "../../../adapters/horde_adapters/web/chat-client.js";
import { answering, chunk, DONE, event, refused, streamed } from "./replies.js";

const CALL = { index: 0, id: "call_1", type: "function", function: { name: "add", arguments: '{"a":1}' } };
const PAYLOAD = { model: "m", messages: [{ role: "user", content: "Hi" }] };

/** @param {(string | Uint8Array)[]} pieces */
const read = (pieces, watch = {}) => readReply(streamed(pieces), watch);

describe("a stream", () => {
  it("gives text, reasoning, the served model, usage and the Horde's details", async () => {
    const told = [];
    const reply = await read(
      [
        ": horde queue_position=7 wait_time=42\n\n",
        chunk({ role: "assistant" }),
        chunk({ reasoning_content: "Hm." }),
        chunk({ content: "Hel" }),
        chunk({ content: "lo" }),
        event({ model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop", native_finish_reason: "eos" }], x_horde: { worker_name: "W" } }),
        event({ model: "m", choices: [], usage: { completion_tokens: 2 } }),
        DONE,
      ],
      {
        onQueue: (queue) => told.push(queue),
        onServed: ({ model }) => told.push(model),
        onReasoning: (text) => told.push(text),
        onContent: (text) => told.push(text),
      },
    );
    assert.deepEqual(told, [{ position: 7, waitTime: 42 }, "m", "Hm.", "Hel", "lo"]);
    const { content, reasoning, model, finishReason, nativeFinishReason, usage, horde, calls } = reply;
    assert.deepEqual(
      { content, reasoning, model, finishReason, nativeFinishReason, usage, horde, calls },
      { content: "Hello", reasoning: "Hm.", model: "m", finishReason: "stop", nativeFinishReason: "eos", usage: { completion_tokens: 2 }, horde: { worker_name: "W" }, calls: [] },
    );
  });

  it("may be cut anywhere, in the middle of a character too", async () => {
    const bytes = new TextEncoder().encode(chunk({ content: "naïve 🧪 日本" }) + DONE);
    for (let at = 1; at < bytes.length; at += 1) {
      assert.equal((await read([bytes.slice(0, at), bytes.slice(at)])).content, "naïve 🧪 日本");
    }
  });

  for (const [name, end] of [["LF", "\n"], ["CRLF", "\r\n"], ["CR", "\r"]]) {
    it(`may end its lines with ${name}, wherever it is cut`, async () => {
      const whole = (chunk({ content: "a" }) + ": hi\n\n" + chunk({ content: "b" }) + DONE).replaceAll("\n", end);
      for (let at = 1; at < whole.length; at += 1) {
        assert.equal((await read([whole.slice(0, at), whole.slice(at)])).content, "ab");
      }
    });
  }

  it("takes content and tool calls from one chunk", async () => {
    const reply = await read([chunk({ content: "Let me see.", tool_calls: [CALL] }), DONE]);
    assert.equal(reply.content, "Let me see.");
    assert.deepEqual(reply.calls, [{ id: "call_1", type: "function", function: { name: "add", arguments: '{"a":1}' } }]);
  });

  it("collects calls by index, in fragments and out of order", async () => {
    const reply = await read([
      chunk({ tool_calls: [{ index: 1, id: "b", function: { name: "two", arguments: "" } }] }),
      chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "one", arguments: "{" } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }, { index: 1, function: { arguments: "{}" } }] }),
      DONE,
    ]);
    assert.deepEqual(reply.calls.map(({ id, function: { name, arguments: given } }) => [id, name, given]), [["a", "one", "{}"], ["b", "two", "{}"]]);
  });

  it("keeps the choices of a request with n apart", async () => {
    const of = (index, content) => event({ model: "m", choices: [{ index, delta: { content } }] });
    const reply = await read([of(0, "a"), of(1, "x"), of(0, "b"), of(1, "y"), DONE]);
    assert.deepEqual(reply.choices.map(({ content }) => content), ["ab", "xy"]);
    assert.equal(reply.content, "ab");
  });

  it("rejects with an error inside it, with what had come", async () => {
    const error = { message: "Faulted.", type: "api_error", param: null, code: "ChatRequestFaulted", metadata: { request_id: "r" } };
    await assert.rejects(read([chunk({ content: "par" }), event({ error }), DONE]), (thrown) => {
      assert.ok(thrown instanceof ChatError);
      assert.deepEqual(
        [thrown.message, thrown.code, thrown.type, thrown.metadata, thrown.status, thrown.isRetrySafe, thrown.partial.content],
        ["Faulted.", "ChatRequestFaulted", "api_error", { request_id: "r" }, 200, false, "par"],
      );
      return true;
    });
  });

  it("rejects when it ends without [DONE]", async () => {
    await assert.rejects(read([chunk({ content: "par" })]), { code: "stream_cut", message: /ended before \[DONE\]/ });
  });

  it("rejects when its connection breaks", async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError("network")) });
    await assert.rejects(readReply(new Response(broken)), { code: "stream_cut", isRetrySafe: false });
  });

  it("rejects when an event can't be read", async () => {
    await assert.rejects(read(["data: {nonsense\n\n", DONE]), { code: "stream_cut" });
  });

  it("is closed by abort, as the caller's own doing", async () => {
    const controller = new AbortController();
    const fetch = async (_, { signal }) => {
      const body = new ReadableStream({
        start(stream) {
          stream.enqueue(new TextEncoder().encode(chunk({ content: "par" })));
          signal.addEventListener("abort", () => stream.error(signal.reason));
        },
      });
      return new Response(body);
    };
    const client = new ChatClient({ baseUrl: "http://front/v1", fetch });
    const chat = client.chat(PAYLOAD, { signal: controller.signal, onContent: () => controller.abort() });
    await assert.rejects(chat, { name: "AbortError" });
  });
});

describe("events", () => {
  it("join several data lines, tell comments, and end with the stream", async () => {
    const events = [];
    for await (const each of readEvents(streamed([":one\ndata:a\ndata: b\nevent: x\n\n", "data: c"]))) events.push(each);
    assert.deepEqual(events, [{ comment: "one" }, { data: "a\nb" }, { data: "c" }]);
  });
});

describe("a request", () => {
  it("carries key, title and the stream's keys", async () => {
    const { fetch, asked } = answering(() => streamed([DONE]));
    await new ChatClient({ baseUrl: "http://front/v1/", apiKey: "k", title: "App", fetch }).chat(PAYLOAD);
    assert.equal(asked[0].url, "http://front/v1/chat/completions");
    assert.deepEqual(asked[0].headers, { "Content-Type": "application/json", Authorization: "Bearer k", "X-Title": "App" });
    assert.deepEqual(asked[0].body, { ...PAYLOAD, stream: true, stream_options: { include_usage: true } });
  });

  it("without a key is anonymous: no Authorization at all", async () => {
    const { fetch, asked } = answering(() => new Response('{"data": [{"id": "m"}]}'));
    assert.deepEqual(await new ChatClient({ baseUrl: "http://front/v1", fetch }).listModels(), [{ id: "m" }]);
    assert.deepEqual([asked[0].url, asked[0].headers], ["http://front/v1/models", {}]);
  });

  it("may ask for the whole reply", async () => {
    const message = { role: "assistant", content: null, reasoning_content: "Hm.", tool_calls: [{ ...CALL, index: undefined }] };
    const completion = { id: "c", model: "m", choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage: { total_tokens: 3 }, x_horde: { kudos: 1 } };
    const { fetch, asked } = answering(() => new Response(JSON.stringify(completion)));
    const reply = await new ChatClient({ baseUrl: "http://front/v1", fetch }).chatWhole(PAYLOAD);
    assert.deepEqual([reply.content, reply.reasoning, reply.calls[0].id, reply.finishReason, reply.usage.total_tokens, reply.horde.kudos], ["", "Hm.", "call_1", "tool_calls", 3, 1]);
    assert.equal(asked[0].body.stream, undefined);
  });

  const refusals = [
    // status, error, headers, is a retry safe, how often it is sent
    [400, { message: "Unknown parameter: 'rep_pen'.", code: "UnsupportedChatParameter", param: "rep_pen" }, {}, true, 1],
    [429, { message: "Slow down.", code: "rate_limit_exceeded" }, { "retry-after": "0" }, true, 3],
    [503, { message: "Busy.", code: "overloaded" }, { "retry-after": "0" }, true, 3],
    [503, { message: "No worker.", code: "no_eligible_worker" }, { "x-should-retry": "false" }, false, 1],
    [502, { message: "Lost.", code: "horde_submit_unknown" }, { "x-should-retry": "false", "retry-after": "0" }, false, 1],
  ];
  for (const [status, error, headers, isSafe, times] of refusals) {
    it(`refused with ${error.code} is sent ${times} times in all`, async () => {
      const { fetch, asked } = answering(...Array(3).fill(() => refused(status, error, headers)));
      const client = new ChatClient({ baseUrl: "http://front/v1", fetch });
      await assert.rejects(client.chat(PAYLOAD), { message: error.message, code: error.code, param: error.param ?? null, status, isRetrySafe: isSafe });
      assert.equal(asked.length, times);
    });
  }

  it("is tried again after Retry-After, and says so", async () => {
    const { fetch } = answering(() => refused(503, { message: "Busy.", code: "overloaded" }, { "retry-after": "0" }), () => streamed([chunk({ content: "ok" }), DONE]));
    const told = [];
    const client = new ChatClient({ baseUrl: "http://front/v1", fetch });
    const reply = await client.chat(PAYLOAD, { onRetry: (seconds, { code }) => told.push([seconds, code]) });
    assert.deepEqual([reply.content, told], ["ok", [[0, "overloaded"]]]);
  });

  it("answered by something that isn't the front is not safe to repeat", async () => {
    const { fetch, asked } = answering(() => new Response("<html>Bad gateway</html>", { status: 502 }));
    const client = new ChatClient({ baseUrl: "http://front/v1", fetch });
    await assert.rejects(client.chat(PAYLOAD), { message: /status 502/, isRetrySafe: false, code: null });
    assert.equal(asked.length, 1);
  });

  it("without an answer is not safe to repeat", async () => {
    const client = new ChatClient({ baseUrl: "http://front/v1", fetch: () => Promise.reject(new TypeError("Failed to fetch")) });
    await assert.rejects(client.chat(PAYLOAD), { code: "unreachable", status: 0, isRetrySafe: false });
  });

  it("stopped while it waits to be tried again is over", async () => {
    const controller = new AbortController();
    const { fetch } = answering(() => refused(503, { message: "Busy." }, { "retry-after": "60" }));
    const client = new ChatClient({ baseUrl: "http://front/v1", fetch });
    await assert.rejects(client.chat(PAYLOAD, { signal: controller.signal, onRetry: () => queueMicrotask(() => controller.abort()) }), { name: "AbortError" });
  });
});

describe("a model's card", () => {
  const card = { top_provider: { max_completion_tokens: 512 }, supported_parameters: ["tools"], architecture: { input_modalities: ["text"] } };

  for (const [wanted, given, maxTokens, isLowered] of [
    [768, card, 512, true],
    [512, card, 512, false],
    [100, card, 100, false],
    [8, card, 16, false],
    [768, undefined, 768, false],
  ]) {
    it(`makes ${maxTokens} of max_tokens ${wanted}${given ? "" : " when there is none"}`, () => {
      const clamped = clampMaxTokens(wanted, given);
      assert.deepEqual([clamped.maxTokens, clamped.isLowered], [maxTokens, isLowered]);
    });
  }

  it("tells what no worker declares", () => {
    const messages = [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }] }];
    const payload = { messages, tools: [{}], response_format: { type: "json_object" }, reasoning_effort: "low" };
    assert.deepEqual(missingAbilities(payload, card), ["images", "response_format", "reasoning_effort"]);
    assert.deepEqual(missingAbilities(payload, undefined), []);
  });
});

it("an MCP server's tools map one to one", () => {
  const inputSchema = { type: "object", properties: { city: { type: "string" } } };
  assert.deepEqual(toolsFromMcp([{ name: "weather", description: "Weather", inputSchema }]), [
    { type: "function", function: { name: "weather", description: "Weather", parameters: inputSchema } },
  ]);
});
