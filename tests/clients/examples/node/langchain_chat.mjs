// The same through LangChain.js.

import { ChatOpenAI } from '@langchain/openai'

const chat = new ChatOpenAI({
  model: 'koboldcpp/Qwen3-8B',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
  configuration: { baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1' },
  modelKwargs: { horde: { include_reasoning: false } },
})
for await (const chunk of await chat.stream('What is 17 × 4?')) {
  process.stdout.write(chunk.content)
}
console.log()
