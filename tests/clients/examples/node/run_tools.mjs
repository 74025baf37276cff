// Let the model call functions, several at once, until it answers with text.

import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
})

const runner = client.chat.completions.runTools({
  model: 'koboldcpp/Qwen3-8B',
  stream: true,
  messages: [{ role: 'user', content: 'What is the weather in Paris and in Oslo?' }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'The weather in a city, now.',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
        parse: JSON.parse,
        function: ({ city }) => ({ city, degrees: { Paris: 18, Oslo: -4 }[city] }),
      },
    },
  ],
})
runner.on('functionToolCall', (call) => console.log(`${call.name}(${call.arguments})`))
console.log(await runner.finalContent())
