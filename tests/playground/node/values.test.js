import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { calculate } from "../../../adapters/horde_adapters/web/arithmetic.js";
import { exported, history, imagesOf, imported, textOf, userMessage } from "../../../adapters/horde_adapters/web/conversation.js";
import { rollDice } from "../../../adapters/horde_adapters/web/demo-tools.js";
import { buildRequest } from "../../../adapters/horde_adapters/web/payload.js";
import { asCurl, asPython } from "../../../adapters/horde_adapters/web/snippets.js";

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const CALL = { id: "a", type: "function", function: { name: "add", arguments: "{}" } };
const CARD = {
  top_provider: { max_completion_tokens: 512 },
  supported_parameters: ["response_format", "tools"],
  architecture: { input_modalities: ["text"] },
};
const SETTINGS = { model: "m", keys: {}, format: "", schema: "", extra: "" };
const MESSAGES = [{ role: "user", content: "Hi" }];
const TOOLS = [{ type: "function", function: { name: "add" } }];

describe("arithmetic", () => {
  for (const [expression, value] of [
    ["1 + 2 * 3", 7], ["(1 + 2) * 3", 9], ["2 ^ 3 ^ 2", 512], ["-2 ^ 2", -4], ["2 ^ -1", 0.5],
    ["7 - 2 - 1", 4], ["8 / 4 / 2", 1], ["7 % 4", 3], ["1.5e3 + .5", 1500.5], [" +4 ", 4],
  ]) {
    it(`${expression} is ${value}`, () => assert.equal(calculate(expression), value));
  }
  for (const expression of ["", "1 +", "(1", "1)", "2 2", "alert(1)", "1 / 0", "a", "1;2", "1".repeat(501)]) {
    it(`refuses ${expression.slice(0, 20) || "nothing"}`, () => assert.throws(() => calculate(expression), Error));
  }
});

it("dice show what the random source says", () => {
  assert.deepEqual(rollDice(3, 6, () => 0.99), { rolls: [6, 6, 6], total: 18 });
  assert.deepEqual(rollDice(2, 20, () => 0), { rolls: [1, 1], total: 2 });
});

describe("a request", () => {
  it("has only what the user set", () => {
    assert.deepEqual(buildRequest(SETTINGS, MESSAGES, [], CARD), { payload: { model: "m", messages: MESSAGES }, hints: [] });
  });

  it("gathers the Horde's options, and puts more keys last", () => {
    const keys = { temperature: 0.5, "horde.max_kudos": 20, "horde.only": ["w"] };
    const { payload } = buildRequest({ ...SETTINGS, keys, extra: '{"logit_bias": {"1": 2}}' }, MESSAGES, [], CARD);
    assert.deepEqual(payload, { model: "m", messages: MESSAGES, temperature: 0.5, horde: { max_kudos: 20, only: ["w"] }, logit_bias: { 1: 2 } });
  });

  it("keeps max_tokens within what is served, and says so", () => {
    const { payload, hints } = buildRequest({ ...SETTINGS, keys: { max_tokens: 768 } }, MESSAGES, [], CARD);
    assert.equal(payload.max_tokens, 512);
    assert.deepEqual(hints, ["This model's workers serve at most 512 tokens per reply."]);
  });

  it("offers tools only to a model whose card lists them", () => {
    const keys = { tool_choice: "required" };
    const without = { ...CARD, supported_parameters: [] };
    assert.deepEqual(buildRequest({ ...SETTINGS, keys }, MESSAGES, TOOLS, CARD).payload.tools, TOOLS);
    const { payload, hints } = buildRequest({ ...SETTINGS, keys }, MESSAGES, TOOLS, without);
    assert.deepEqual([payload.tools, payload.tool_choice, hints.length], [undefined, undefined, 1]);
  });

  it("says before sending that no worker takes images", () => {
    assert.deepEqual(buildRequest(SETTINGS, [userMessage("What?", [PNG])], [], CARD).hints, ["None of this model's workers takes images."]);
  });

  it("asks for a schema strictly", () => {
    const { payload } = buildRequest({ ...SETTINGS, format: "json_schema", schema: '{"type": "object"}' }, MESSAGES, [], CARD);
    assert.deepEqual(payload.response_format, { type: "json_schema", json_schema: { name: "reply", strict: true, schema: { type: "object" } } });
  });

  for (const [name, changed] of [["a schema", { format: "json_schema", schema: "{" }], ["more keys", { extra: "[1]" }]]) {
    it(`can't be made when ${name} can't be read`, () => {
      assert.throws(() => buildRequest({ ...SETTINGS, ...changed }, MESSAGES, [], CARD), /^Error: (The JSON schema can't be read|More keys is no object)/);
    });
  }
});

describe("a conversation", () => {
  const entries = [
    userMessage("What is this?", [PNG, "https://example.org/a.png"]),
    { role: "assistant", content: null, tool_calls: [CALL], details: { model: "m" } },
    { role: "tool", tool_call_id: "a", content: "ok" },
    { role: "assistant", content: "cut", isLeftOut: true },
    { role: "assistant", content: "A picture." },
  ];

  it("comes back from its file as it was", () => {
    const file = exported("Be brief.", entries, new Date(0));
    assert.deepEqual(imported(file), { system: "Be brief.", entries });
    assert.equal(JSON.parse(file).exported_at, "1970-01-01T00:00:00.000Z");
  });

  it("is sent without what failed and without what is only shown", () => {
    assert.deepEqual(history("Be brief.", entries), [
      { role: "system", content: "Be brief." },
      entries[0],
      { role: "assistant", content: null, tool_calls: [CALL] },
      entries[2],
      entries[4],
    ]);
    assert.deepEqual(history("  ", []), []);
  });

  it("may be a bare list of messages", () => {
    assert.deepEqual(imported('[{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]'), { system: "S", entries: [{ role: "user", content: "U" }] });
  });

  it("has text and images apart", () => {
    assert.equal(textOf(entries[0]), "What is this?");
    assert.deepEqual(imagesOf(entries[0]), [PNG, "https://example.org/a.png"]);
    assert.deepEqual([textOf({ role: "assistant", content: null }), imagesOf({ role: "user", content: "a" })], ["", []]);
  });

  for (const [name, file] of [
    ["JSON", "{"],
    ["a conversation", '{"a": 1}'],
    ["a known version", '{"format": "horde-chat-conversation", "version": 9, "messages": []}'],
    ["a list of messages", '{"format": "horde-chat-conversation", "version": 1}'],
    ["a known role", '[{"role": "owner", "content": "a"}]'],
    ["readable content", '[{"role": "user", "content": 5}]'],
    ["an image of a known kind", '[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "javascript:alert(1)"}}]}]'],
    ["a call's id", '[{"role": "tool", "content": "a"}]'],
    ["whole calls", '[{"role": "assistant", "content": null, "tool_calls": [{"id": 1}]}]'],
  ]) {
    it(`is refused without ${name}`, () => assert.throws(() => imported(file), Error));
  }
});

describe("a snippet", () => {
  const payload = { model: "it's", messages: MESSAGES, stream: true, stop: [], horde: { trusted_workers: true, max_kudos: null } };

  it("for a shell reads the body from a here-document", () => {
    assert.equal(
      asCurl("http://front/v1", { model: "it's", messages: [] }, true),
      `curl -N 'http://front/v1/chat/completions' \\
  -H "Authorization: Bearer $HORDE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'REQUEST'
{
  "model": "it's",
  "messages": []
}
REQUEST
`,
    );
    assert.doesNotMatch(asCurl("http://front/v1", payload, false), /Authorization/);
  });

  it("for Python gives the SDK its own keys and the others as extra_body", () => {
    assert.equal(
      asPython("http://front/v1", payload, false),
      `from openai import OpenAI

client = OpenAI(base_url="http://front/v1", api_key="0000000000")
stream = client.chat.completions.create(
    model="it's",
    messages=[
        {
            "role": "user",
            "content": "Hi",
        },
    ],
    stream=True,
    stop=[],
    extra_body={
        "horde": {
            "trusted_workers": True,
            "max_kudos": None,
        },
    },
)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
print()
`,
    );
  });
});
