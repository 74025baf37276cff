// The AI SDK with its openai-compatible provider, at their defaults.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Output, generateObject, generateText, stepCountIs, streamText, tool } from 'ai'
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

const horde = createOpenAICompatible({
  name: 'horde',
  baseURL: OAI_BASE_URL,
  apiKey: HORDE_API_KEY,
})
const strict = createOpenAICompatible({
  name: 'horde',
  baseURL: OAI_BASE_URL,
  apiKey: HORDE_API_KEY,
  supportsStructuredOutputs: true,
})

const get_weather = tool({
  description: 'The weather in a city, now.',
  inputSchema: z.object({ city: z.string() }),
  execute: weather,
})
const looped = { tools: { get_weather }, stopWhen: stepCountIs(5) }

const Recipe = z.object({
  title: z.string(),
  difficulty: z.enum(['easy', 'hard']),
  ingredients: z.array(z.object({ name: z.string(), grams: z.number().int() })),
})

const steps = (all) =>
  all.map(({ text, finishReason, toolCalls, toolResults }) => ({
    text,
    finishReason,
    calls: toolCalls.map(({ toolName, input }) => [toolName, input]),
    results: toolResults.map(({ output }) => output),
  }))

const partsOf = async (streaming, raw = []) => {
  const parts = []
  for await (const part of streaming.fullStream) {
    if (part.type === 'raw') raw.push(part.rawValue)
    if (part.type.endsWith('-delta') || part.type === 'error') {
      const { type, text, error } = part
      parts.push(error === undefined ? [type, text] : [type, error.message ?? error])
    }
  }
  return parts
}
const quiet = { onError: () => {} }

await printResults({
  generateText: async () => {
    const { text, reasoningText, finishReason, usage, response } = await generateText({
      model: horde(QWEN),
      system: 'Be brief.',
      prompt: SUM,
    })
    return { text, reasoningText, finishReason, usage, served: response.modelId }
  },

  streamText: async () => {
    const asked = { model: horde(QWEN), prompt: SUM, include: { rawChunks: true }, ...quiet }
    const streaming = streamText(asked)
    const raw = []
    const parts = await partsOf(streaming, raw)
    return { parts, raw, finishReason: await streaming.finishReason, text: await streaming.text }
  },

  generateTools: async () =>
    steps((await generateText({ model: horde(QWEN), prompt: IN_TWO_CITIES, ...looped })).steps),

  streamTools: async () => {
    const asked = { model: horde(QWEN), prompt: IN_TWO_CITIES, ...looped, ...quiet }
    const streaming = streamText(asked)
    await streaming.consumeStream()
    return steps(await streaming.steps)
  },

  generateObject: async () =>
    (await generateObject({
      model: strict(QWEN),
      schema: Recipe,
      prompt: 'A recipe for bread, please.',
    })).object,

  streamOutput: async () => {
    const asked = { model: strict(QWEN), output: Output.object({ schema: Recipe }) }
    const streaming = streamText({ ...asked, prompt: 'A recipe for bread, please.', ...quiet })
    await streaming.consumeStream()
    return await streaming.output
  },

  jsonObject: async () =>
    (await generateObject({ model: horde(QWEN), output: 'no-schema', prompt: 'Describe Oslo.' }))
      .object,

  image: async () =>
    (await generateText({
      model: horde(VISION),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'file', mediaType: 'image/png', data: BLUE_PNG.split(',')[1] },
          ],
        },
      ],
    })).text,

  refused: async () =>
    await thrown(() =>
      generateText({
        model: horde(QWEN),
        prompt: SUM,
        providerOptions: { horde: { min_p: 0.1 } },
      }),
    ),

  // One after the other: the test has planned a fault for the first stream of the plain model.
  diverges: async () => {
    const asked = { model: horde(PLAIN), prompt: HUNDRED_WORDS, ...quiet }
    const broken = await partsOf(streamText(asked))
    return { broken, live: await partsOf(streamText(asked)) }
  },
})
