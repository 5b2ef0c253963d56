/** The end of a custom call in a stream of the Responses API. */
import { isRecord } from '@parley/protocol'
import { parseRecord } from '../../lib/index.ts'
import type { Fetch } from './transport.ts'

const DONE = 'response.output_item.done'

/**
 * The vendor closes a call that its output limit has cut off with the status `incomplete` or `in_progress`. The library accepts that of a
 * function, and fails on that of a custom tool; the reason of the whole answer says that it was cut off. Source:
 * https://github.com/vercel/ai/pull/20405
 */
export function withCompletedCalls(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const hasCustomTools = typeof init?.body === 'string' && init.body.includes('"type":"custom"')
    if (!hasCustomTools || !response.ok || response.body === null) return response
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(lineByLine(completed))
      .pipeThrough(new TextEncoderStream())
    return new Response(body, response)
  }
}

/** @param line of a stream of events, without its end */
function completed(line: string): string {
  if (!line.startsWith('data:') || !line.includes(DONE) || !line.includes('custom_tool_call')) return line
  const event = parseRecord(line.slice('data:'.length))
  if (event?.['type'] !== DONE || !isRecord(event['item']) || event['item']['type'] !== 'custom_tool_call') return line
  return `data: ${JSON.stringify({ ...event, item: { ...event['item'], status: 'completed' } })}`
}

function lineByLine(change: (line: string) => string): TransformStream<string, string> {
  let rest = ''
  return new TransformStream({
    transform(text, controller) {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      if (lines.length > 0) controller.enqueue(lines.map((line) => `${change(line)}\n`).join(''))
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(change(rest))
    },
  })
}
