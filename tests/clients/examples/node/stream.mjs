// Show a reply, and the thoughts before it, while the model writes.

import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
})

const stream = await client.chat.completions.create({
  model: 'koboldcpp/Qwen3-8B',
  messages: [{ role: 'user', content: 'What is 17 × 4?' }],
  stream: true,
  stream_options: { include_usage: true },
})
for await (const chunk of stream) {
  if (chunk.x_horde) console.log(`\nanswered by ${chunk.x_horde.worker_name}`)
  if (chunk.usage) console.log(`${chunk.usage.completion_tokens} tokens`)
  const delta = chunk.choices[0]?.delta ?? {}
  if (delta.reasoning_content) console.log(`(${delta.reasoning_content})`)
  if (delta.content) process.stdout.write(delta.content)
}
