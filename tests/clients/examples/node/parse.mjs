// Get an object of a shape of yours.

import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import * as z from 'zod'

const Recipe = z.object({
  title: z.string(),
  difficulty: z.enum(['easy', 'hard']),
  ingredients: z.array(z.object({ name: z.string(), grams: z.number().int() })),
})

const client = new OpenAI({
  baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
})
const reply = await client.chat.completions.parse({
  model: 'koboldcpp/Qwen3-8B',
  messages: [{ role: 'user', content: 'A recipe for bread, please.' }],
  response_format: zodResponseFormat(Recipe, 'recipe'),
})
const { title, difficulty, ingredients } = reply.choices[0].message.parsed
console.log(`${title} (${difficulty})`)
for (const { name, grams } of ingredients) console.log(`- ${grams} g ${name}`)
