/** Answers as the front gives them, for a client that is handed them in place of the network. */

const encoder = new TextEncoder();

/** A stream of the given pieces, each arriving by itself. @param {(string | Uint8Array)[]} pieces */
export function streamed(pieces, headers = {}) {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8", "x-should-retry": "false", ...headers } });
}

/** @param {any} value */
export const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
export const DONE = "data: [DONE]\n\n";

/** @param {any} delta */
export const chunk = (delta, more = {}) =>
  event({ id: "chatcmpl-1", model: "m", choices: [{ index: 0, delta, ...more }] });

/** @param {number} status @param {any} error */
export const refused = (status, error, headers = {}) =>
  new Response(JSON.stringify({ error }), { status, headers: { "content-type": "application/json", ...headers } });

/** A `fetch` that gives these answers one after the other and keeps what it was asked. @param {(() => Response | Promise<Response>)[]} answers */
export function answering(...answers) {
  const asked = [];
  const fetch = async (url, request = {}) => {
    asked.push({ url, ...request, body: request.body && JSON.parse(request.body) });
    return answers[asked.length - 1]();
  };
  return { fetch, asked };
}
