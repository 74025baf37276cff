// Take any of several models, hide the thoughts, and set a price that must not be exceeded.

import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
})
const reply = await client.chat.completions.create({
  models: ['koboldcpp/Gemma-3-4B-it', 'koboldcpp/Qwen3-8B'],
  messages: [{ role: 'user', content: 'What is 17 × 4?' }],
  horde: { include_reasoning: false, max_kudos: 500 },
})
console.log(reply.model, 'says:', reply.choices[0].message.content)
