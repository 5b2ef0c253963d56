/** Frames of clients on the events socket, and the errors for invalid ones. Source: agent-server-wire.md 2.5. */
import { ContentPart, eventTimestamp, type ImageContent, newEventId, type TextContent } from '@parley/protocol'
import { z } from 'zod'
import { findJsonFault } from '../input/json-scan.ts'
import { read } from '../input/validation.ts'
import { isIntroduction } from './first-frame.ts'

export type ClientFrame =
  | { kind: 'auth' }
  | { kind: 'message'; content: (TextContent | ImageContent)[] }
  /** `code` is the class name that existing clients read. */
  | { kind: 'problem'; code: string; detail: string }

/** A Message as clients send it; other members are ignored. */
const MessageFrame = z.object({
  role: z.enum(['user', 'system', 'assistant', 'tool']),
  content: z.array(ContentPart).default([]),
})

/** Reads one frame; never throws. */
export function readClientFrame(data: Buffer, isBinary: boolean): ClientFrame {
  if (isBinary) return problem('KeyError', "'text'")
  const text = data.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const fault = findJsonFault(text)
    return problem('JSONDecodeError', fault?.kind === 'syntax' ? `${fault.reason}: char ${fault.offset}` : 'not JSON')
  }
  if (isIntroduction(value)) return { kind: 'auth' }
  const message = read(MessageFrame, value, [])
  if (message.value === undefined)
    return problem(
      'ValidationError',
      message.entries.map(({ loc, msg }) => (loc.length > 0 ? `${loc.join('.')}: ${msg}` : msg)).join('; '),
    )
  if (message.value.role !== 'user') return problem('AssertionError', 'Only user messages are accepted')
  return { kind: 'message', content: message.value.content }
}

const problem = (code: string, detail: string): ClientFrame => ({ kind: 'problem', code, detail })

/** JSON of a ServerErrorEvent: sent to one socket, never stored. */
export function serverError(code: string, detail: string): string {
  const at = { id: newEventId(), timestamp: eventTimestamp(new Date()) }
  return JSON.stringify({ kind: 'ServerErrorEvent', ...at, source: 'environment', code, detail })
}
