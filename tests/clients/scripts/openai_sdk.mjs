// The openai Node SDK: whole and streamed, helpers, tools, schemas, images and errors.

import OpenAI from 'openai'
import { zodResponseFormat, zodFunction } from 'openai/helpers/zod'
import * as z from 'zod'

import {
  BLUE_PNG,
  HORDE_API_KEY,
  HUNDRED_WORDS,
  IN_TWO_CITIES,
  OAI_BASE_URL,
  OFFLINE,
  PLAIN,
  QWEN,
  SUM,
  VISION,
  WEATHER_SCHEMA,
  WEATHER_TOOL,
  countingFetch,
  printResults,
  thrown,
  weather,
} from './cases.mjs'

const client = new OpenAI({ baseURL: OAI_BASE_URL, apiKey: HORDE_API_KEY })
const { completions } = client.chat
const ask = (content) => [{ role: 'user', content }]
const chunksOf = async (stream) => {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

const Recipe = z.object({
  title: z.string(),
  difficulty: z.enum(['easy', 'hard']),
  ingredients: z.array(z.object({ name: z.string(), grams: z.number().int() })),
})

const runnable = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city, now.',
    parameters: WEATHER_SCHEMA,
    parse: JSON.parse,
    function: weather,
  },
}

await printResults({
  models: async () => (await chunksOf(await client.models.list())).map((card) => card.id),

  card: async () => await client.models.retrieve(VISION),

  whole: async () => await completions.create({ model: QWEN, messages: ask(SUM) }),

  streamed: async () =>
    await chunksOf(
      await completions.create({
        model: QWEN,
        messages: ask(SUM),
        stream: true,
        stream_options: { include_usage: true },
      }),
    ),

  helper: async () => {
    const stream = completions.stream({ model: QWEN, messages: ask(SUM) })
    let streamed = ''
    stream.on('content', (delta) => (streamed += delta))
    const final = await stream.finalChatCompletion()
    return { streamed, final }
  },

  parallelToolRound: async () => {
    const asked = { model: QWEN, tools: [WEATHER_TOOL], parallel_tool_calls: true }
    const messages = ask(IN_TWO_CITIES)
    const first = await completions.create({ ...asked, messages })
    const { message } = first.choices[0]
    messages.push(message)
    for (const call of message.tool_calls) {
      const result = weather(JSON.parse(call.function.arguments))
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) })
    }
    return { first, second: await completions.create({ ...asked, messages }) }
  },

  runTools: async () => {
    const asked = { model: QWEN, messages: ask(IN_TWO_CITIES), tools: [runnable] }
    const runner = completions.runTools(asked)
    return { final: await runner.finalContent(), messages: runner.messages }
  },

  runToolsStreamed: async () => {
    const asked = { model: QWEN, messages: ask(IN_TWO_CITIES), tools: [runnable], stream: true }
    const runner = completions.runTools(asked)
    return { final: await runner.finalContent(), messages: runner.messages }
  },

  strictTool: async () =>
    await completions.parse({
      model: QWEN,
      messages: ask('And in Oslo?'),
      tools: [zodFunction({ name: 'get_weather', parameters: z.object({ city: z.string() }) })],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    }),

  parse: async () => {
    const reply = await completions.parse({
      model: QWEN,
      messages: ask('A recipe for bread, please.'),
      response_format: zodResponseFormat(Recipe, 'recipe'),
    })
    return Recipe.parse(reply.choices[0].message.parsed)
  },

  jsonObject: async () =>
    await completions.create({
      model: QWEN,
      messages: ask('Describe Oslo.'),
      response_format: { type: 'json_object' },
    }),

  image: async () =>
    await completions.create({
      model: VISION,
      messages: ask([
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: BLUE_PNG } },
      ]),
    }),

  hiddenReasoning: async () =>
    await completions.create({
      model: QWEN,
      messages: ask(SUM),
      horde: { include_reasoning: false },
    }),

  anyModel: async () =>
    await completions.create({ models: [OFFLINE, QWEN], messages: ask(SUM) }),

  refused: async () =>
    await thrown(() =>
      completions.create({ model: QWEN, messages: ask(SUM), logit_bias: { 50256: -100 } }),
    ),

  noWorker: async () => {
    const counting = countingFetch()
    const { chat } = new OpenAI({ baseURL: OAI_BASE_URL, apiKey: HORDE_API_KEY, fetch: counting })
    const error = await thrown(() =>
      chat.completions.create({ model: OFFLINE, messages: ask(SUM) }),
    )
    return { error, sent: counting.sent }
  },

  // One after the other: the test has planned a fault for the first stream of the plain model.
  diverges: async () => {
    const asked = { model: PLAIN, messages: ask(HUNDRED_WORDS), stream: true }
    let text = ''
    const error = await thrown(async () => {
      for await (const chunk of await completions.create(asked)) {
        text += chunk.choices[0].delta.content ?? ''
      }
    })
    return { error, text, live: await chunksOf(await completions.create(asked)) }
  },
})
