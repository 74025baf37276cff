// The same through the AI SDK, which runs the tools by itself.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { stepCountIs, streamText, tool } from 'ai'
import * as z from 'zod'

const horde = createOpenAICompatible({
  name: 'horde',
  baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
  supportsStructuredOutputs: true,
})

const { fullStream } = streamText({
  model: horde('koboldcpp/Qwen3-8B'),
  prompt: 'What is the weather in Paris and in Oslo?',
  stopWhen: stepCountIs(5),
  tools: {
    get_weather: tool({
      description: 'The weather in a city, now.',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => ({ city, degrees: { Paris: 18, Oslo: -4 }[city] }),
    }),
  },
})
for await (const part of fullStream) {
  if (part.type === 'tool-call') console.log(`${part.toolName}(${JSON.stringify(part.input)})`)
  if (part.type === 'text-delta') process.stdout.write(part.text)
  if (part.type === 'error') throw part.error
}
console.log()
