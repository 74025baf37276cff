// Tell what to change from what to wait for.

import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.OAI_BASE_URL ?? 'http://127.0.0.1:8000/v1',
  apiKey: process.env.HORDE_API_KEY ?? '0000000000',
})
const messages = [{ role: 'user', content: 'Say hello, briefly.' }]

try {
  await client.chat.completions.create({ model: 'koboldcpp/Qwen3-8B', messages, temperature: 2.5 })
} catch (error) {
  if (!(error instanceof OpenAI.BadRequestError)) throw error
  // Nothing was queued: correct the request and send it again.
  console.log(`change ${error.param}: ${error.message}`)
}

try {
  await client.chat.completions.create({ model: 'koboldcpp/Gemma-3-4B-it', messages })
} catch (error) {
  if (!(error instanceof OpenAI.APIError)) throw error
  // `x-should-retry: false`: the SDK hasn't asked again, and neither should a loop of yours.
  console.log(`${error.code}: ${error.message}`)
}
