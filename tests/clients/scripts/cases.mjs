// What the scripts share: the models, a tool, a picture, and one JSON object with every result.

export const PLAIN = 'koboldcpp/Llama-3.2-3B-Instruct'
export const QWEN = 'koboldcpp/Qwen3-8B'
export const VISION = 'aphrodite/Qwen/Qwen2.5-VL-7B-Instruct'
export const OFFLINE = 'koboldcpp/Gemma-3-4B-it'
export const { OAI_BASE_URL, HORDE_API_KEY } = process.env

export const SUM = 'What is 17 × 4?'
export const IN_TWO_CITIES = 'What is the weather in Paris and in Oslo?'
export const HUNDRED_WORDS = 'Write 100 words.'

const DEGREES = { Paris: 18, Oslo: -4 }

export const weather = ({ city }) => ({ city, degrees: DEGREES[city] })

export const WEATHER_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

export const WEATHER_TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city, now.',
    parameters: WEATHER_SCHEMA,
  },
}

// Four blue pixels, two by two.
export const BLUE_PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGPUCLjDwMDAxMDAwMDAAAAPZgFYFVeepAAAAABJRU5ErkJggg=='

// A fetch that counts what it sends.
export function countingFetch() {
  const counting = (...args) => {
    counting.sent += 1
    return fetch(...args)
  }
  counting.sent = 0
  return counting
}

const told = (error) => ({
  name: error?.constructor?.name,
  message: String(error?.message ?? error),
  status: error?.status ?? error?.statusCode,
  code: error?.code,
  param: error?.param,
})

// What an action throws, as plain values; that it throws nothing is an error.
export async function thrown(action) {
  let result
  try {
    result = await action()
  } catch (error) {
    return told(error)
  }
  throw new Error(`nothing was thrown, but returned: ${JSON.stringify(result)}`)
}

// Runs all cases at once and prints their results; a case that throws has `failed`.
export async function printResults(cases) {
  const run = async ([name, action]) => {
    try {
      return [name, await action()]
    } catch (error) {
      return [name, { failed: { ...told(error), stack: error?.stack } }]
    }
  }
  const results = Object.fromEntries(await Promise.all(Object.entries(cases).map(run)))
  await new Promise((written) => process.stdout.write(JSON.stringify(results), written))
  process.exit(0)
}
