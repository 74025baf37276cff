// The code that the how-to for web frontends prints, as it stands there, in Node.

import { HORDE_API_KEY, HUNDRED_WORDS, IN_TWO_CITIES, OAI_BASE_URL, OFFLINE, PLAIN, QWEN, SUM, WEATHER_SCHEMA, printResults, thrown, weather } from './cases.mjs'

// --- As printed ---

async function readChatStream(response) {
  if (!response.ok) {
    const body = await response.json();
    throw new Error(body.error?.message ?? `Chat request failed (${response.status})`);
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  let text = "";
  let served = null;
  const calls = [];

  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("Chat stream ended before [DONE]");
    buffer += decoder.decode(value, { stream: true });
    const lines = buffer.split(/\r?\n/);
    buffer = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue; // keepalive comments and blank lines
      const data = line.slice(6);
      if (data === "[DONE]") return { text, calls, served };
      const event = JSON.parse(data);
      if (event.error) throw new Error(event.error.message);
      if (event.model) served = { model: event.model, horde: event.x_horde ?? served?.horde };
      const delta = event.choices?.[0]?.delta ?? {};
      if (delta.content) text += delta.content;
      for (const call of delta.tool_calls ?? []) {
        const slot = (calls[call.index] ??= { id: "", type: "function", function: { name: "", arguments: "" } });
        if (call.id) slot.id = call.id;
        if (call.function?.name) slot.function.name += call.function.name;
        if (call.function?.arguments) slot.function.arguments += call.function.arguments;
      }
    }
  }
}

// --- Around it ---

const apiKey = HORDE_API_KEY
const mcpTools = [
  { name: 'get_weather', description: 'The weather in a city, now.', inputSchema: WEATHER_SCHEMA },
]
const resultFor = (call) => JSON.stringify(weather(JSON.parse(call.function.arguments)))

async function send(payload) {
  const response = await fetch(`${OAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "Authorization": `Bearer ${apiKey}`,
      "X-Title": "<your-frontend>",
    },
    body: JSON.stringify(payload),
  });
  return await readChatStream(response);
}

const ask = (model, content) => ({ model, messages: [{ role: 'user', content }], stream: true })

await printResults({
  text: async () => await send(ask(QWEN, SUM)),

  toolLoop: async () => {
    const tools = mcpTools.map((tool) => ({
      type: "function",
      function: { name: tool.name, description: tool.description, parameters: tool.inputSchema },
    }));
    const { messages, ...asked } = ask(QWEN, IN_TWO_CITIES)
    const rounds = []
    for (;;) {
      const { text, calls } = await send({ ...asked, messages, tools })
      rounds.push({ text, calls })
      if (calls.length === 0) return rounds
      messages.push({ role: "assistant", content: null, tool_calls: calls });
      for (const call of calls) {
        messages.push({ role: "tool", tool_call_id: call.id, content: resultFor(call) });
      }
    }
  },

  clamped: async () => {
    const models = await (await fetch(`${OAI_BASE_URL}/models`)).json()
    const selectedModel = PLAIN
    const userMaxTokens = 16000
    const notices = []
    const notify = (text) => notices.push(text)
    const card = models.data.find((entry) => entry.id === selectedModel);
    const servedMax = card.top_provider.max_completion_tokens;
    const maxTokens = Math.max(16, Math.min(userMaxTokens, servedMax));
    if (maxTokens < userMaxTokens) notify(`This model's workers serve at most ${servedMax} tokens per reply.`);
    return { maxTokens, notices }
  },

  // The front's own notice of the same: asked above what is served, and not clamped.
  lowered: async () => (await send({ ...ask(QWEN, SUM), max_tokens: 16000 })).served,

  noWorker: async () => await thrown(() => send(ask(OFFLINE, SUM))),

  sampler: async () => await thrown(() => send({ ...ask(QWEN, SUM), rep_pen: 1.1, min_p: 0.1 })),

  // One after the other: the test has planned a fault for the first stream of the plain model.
  diverges: async () => {
    const error = await thrown(() => send(ask(PLAIN, HUNDRED_WORDS)))
    return { error, next: await send(ask(PLAIN, HUNDRED_WORDS)) }
  },
})
