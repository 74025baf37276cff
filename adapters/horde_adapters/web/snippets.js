/** A request as text that runs elsewhere: curl for a shell, and the OpenAI SDK for Python. */

/** @typedef {import("./chat-client.js").Payload} Payload */

/** What the SDK takes by name; anything else goes through `extra_body`. */
const SDK_KEYS = new Set(
  `model messages max_tokens max_completion_tokens temperature top_p frequency_penalty presence_penalty stop seed n
  stream stream_options reasoning_effort tools tool_choice parallel_tool_calls response_format`.split(/\s+/),
);

/**
 * @param {string} baseUrl
 * @param {Payload} payload
 * @param {boolean} hasKey
 */
export function asCurl(baseUrl, payload, hasKey) {
  const lines = [
    `curl -N ${quoted(`${baseUrl}/chat/completions`)} \\`,
    ...(hasKey ? ['  -H "Authorization: Bearer $HORDE_API_KEY" \\'] : []),
    "  -H 'Content-Type: application/json' \\",
    "  --data-binary @- <<'REQUEST'", // no argument: images make one longer than a shell takes
    JSON.stringify(payload, null, 2),
    "REQUEST",
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * @param {string} baseUrl
 * @param {Payload} payload
 * @param {boolean} hasKey
 */
export function asPython(baseUrl, payload, hasKey) {
  const entries = Object.entries(payload);
  const named = entries.filter(([key]) => SDK_KEYS.has(key));
  const others = entries.filter(([key]) => !SDK_KEYS.has(key));
  if (others.length) named.push(["extra_body", Object.fromEntries(others)]);
  const key = hasKey ? 'os.environ["HORDE_API_KEY"]' : '"0000000000"';
  return [
    ...(hasKey ? ["import os", ""] : []),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${python(baseUrl, "")}, api_key=${key})`,
    `${payload.stream ? "stream" : "completion"} = client.chat.completions.create(`,
    ...named.map(([name, value]) => `    ${name}=${python(value, "    ")},`),
    ")",
    ...(payload.stream
      ? [
          "for chunk in stream:",
          "    for choice in chunk.choices:",
          '        print(choice.delta.content or "", end="", flush=True)',
          "print()",
        ]
      : ["print(completion.choices[0].message.content)"]),
    "",
  ].join("\n");
}

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * A JSON value as a Python literal. JSON's strings are Python's too, but for unpaired surrogates.
 * @param {any} value
 * @param {string} indent
 * @returns {string}
 */
function python(value, indent) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const isList = Array.isArray(value);
  const inner = `${indent}    `;
  const items = isList
    ? value.map((item) => inner + python(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${python(item, inner)}`);
  const [open, close] = isList ? "[]" : "{}";
  return items.length ? `${open}\n${items.join(",\n")},\n${indent}${close}` : open + close;
}
