// eventsource-parser over Node's own fetch: events, and comments, which have a callback.

import { createParser } from 'eventsource-parser'

import { HORDE_API_KEY, HUNDRED_WORDS, OAI_BASE_URL, PLAIN, QWEN, SUM, printResults } from './cases.mjs'

// One byte at a time: a parser must not care where a network cuts.
const bytes = new TransformStream({
  transform(chunk, controller) {
    for (const byte of chunk) controller.enqueue(Uint8Array.of(byte))
  },
})

async function parsed(model, content, ...cutters) {
  const response = await fetch(`${OAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${HORDE_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      stream: true,
      stream_options: { include_usage: true },
    }),
  })
  const found = {
    type: response.headers.get('content-type'),
    retry: response.headers.get('x-should-retry'),
    events: [],
    comments: [],
    errors: [],
  }
  const parser = createParser({
    onEvent: ({ id, event, data }) => found.events.push({ id, event, data }),
    onComment: (comment) => found.comments.push(comment),
    onError: (error) => found.errors.push(String(error)),
  })
  const decoder = new TextDecoder()
  let body = response.body
  for (const cutter of cutters) body = body.pipeThrough(cutter)
  for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }))
  return found
}

await printResults({
  reasoning: async () => await parsed(QWEN, SUM, bytes),

  // One after the other: the test has planned a fault for the first stream of the plain model.
  diverges: async () => {
    const broken = await parsed(PLAIN, HUNDRED_WORDS)
    return { broken, live: await parsed(PLAIN, HUNDRED_WORDS) }
  },
})
