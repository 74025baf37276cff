// Ask a question, and see who answered it.

import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
  defaultHeaders: { 'X-Title': 'my-app' },
})

for await (const card of client.models.list()) console.log(card.id)

const reply = await client.chat.completions.create({
  model: 'koboldcpp/Qwen3-8B',
  messages: [{ role: 'user', content: 'What is 17 × 4?' }],
})
console.log(reply.choices[0].message.content)
console.log(`answered by ${reply.x_horde.worker_name} for ${reply.x_horde.kudos} kudos`)
