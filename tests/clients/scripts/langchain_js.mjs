// LangChain.js: ChatOpenAI at its defaults.

import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import * as z from 'zod'

import {
  BLUE_PNG,
  HORDE_API_KEY,
  HUNDRED_WORDS,
  IN_TWO_CITIES,
  OAI_BASE_URL,
  PLAIN,
  QWEN,
  SUM,
  VISION,
  printResults,
  thrown,
  weather,
} from './cases.mjs'

const chat = (model, options = {}) =>
  new ChatOpenAI({
    model,
    apiKey: HORDE_API_KEY,
    configuration: { baseURL: OAI_BASE_URL },
    ...options,
  })

const getWeather = tool((input) => JSON.stringify(weather(input)), {
  name: 'get_weather',
  description: 'The weather in a city, now.',
  schema: z.object({ city: z.string() }),
})

const Recipe = z.object({
  title: z.string(),
  difficulty: z.enum(['easy', 'hard']),
  ingredients: z.array(z.object({ name: z.string(), grams: z.number().int() })),
})

const plain = ({ content, tool_calls, additional_kwargs, response_metadata, usage_metadata }) => ({
  content,
  calls: (tool_calls ?? []).map(({ name, args, id }) => ({ name, args, id })),
  reasoning: additional_kwargs?.reasoning_content,
  metadata: response_metadata,
  usage: usage_metadata,
})

const gathered = async (stream, pieces = []) => {
  let whole
  for await (const chunk of stream) {
    if (chunk.content) pieces.push(chunk.content)
    whole = whole === undefined ? chunk : whole.concat(chunk)
  }
  return whole
}

const toolRound = async (ask) => {
  const messages = [new HumanMessage(IN_TWO_CITIES)]
  const first = await ask(messages)
  messages.push(first)
  for (const call of first.tool_calls) {
    messages.push(
      new ToolMessage({
        tool_call_id: call.id,
        name: call.name,
        content: await getWeather.invoke(call.args),
      }),
    )
  }
  return { first: plain(first), second: plain(await ask(messages)) }
}

const withTools = chat(QWEN).bindTools([getWeather])

await printResults({
  invoke: async () => plain(await chat(QWEN).invoke(SUM)),

  stream: async () => plain(await gathered(await chat(QWEN).stream(SUM))),

  toolRound: async () => await toolRound((messages) => withTools.invoke(messages)),

  toolRoundStreamed: async () =>
    await toolRound(async (messages) => await gathered(await withTools.stream(messages))),

  structured: async () =>
    await chat(QWEN).withStructuredOutput(Recipe).invoke('A recipe for bread, please.'),

  structuredByFunction: async () =>
    await chat(QWEN)
      .withStructuredOutput(Recipe, { method: 'functionCalling' })
      .invoke('A recipe for bread, please.'),

  image: async () =>
    plain(
      await chat(VISION).invoke([
        new HumanMessage({
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: BLUE_PNG } },
          ],
        }),
      ]),
    ),

  refused: async () =>
    await thrown(() => chat(QWEN, { modelKwargs: { top_k: 5 } }).invoke(SUM)),

  // One after the other: the test has planned a fault for the first stream of the plain model.
  diverges: async () => {
    const pieces = []
    const error = await thrown(async () =>
      gathered(await chat(PLAIN).stream(HUNDRED_WORDS), pieces),
    )
    const live = []
    await gathered(await chat(PLAIN).stream(HUNDRED_WORDS), live)
    return { error, pieces, live }
  },
})
