/** Frames of clients on the events socket, and the errors for invalid ones. Source: agent-server-wire.md 2.5. */
import { ContentPart, eventTimestamp, type ImageContent, list, newEventId, type TextContent } from '@parley/protocol'
import { z } from 'zod'
import { read } from '../input/validation.ts'
import { isIntroduction } from './first-frame.ts'
import { failuresOf, readJsonFrame } from './json-frame.ts'

export type ClientFrame =
  | { kind: 'auth' }
  | { kind: 'message'; content: (TextContent | ImageContent)[] }
  /** `code` is the class name that existing clients read. */
  | { kind: 'problem'; code: string; detail: string }

/** A Message as clients send it; other members are ignored. */
const MessageFrame = z.object({
  role: z.enum(['user', 'system', 'assistant', 'tool']),
  content: list(ContentPart).default([]),
})

/** Reads one frame; never rejects. */
export async function readClientFrame(data: Buffer, isBinary: boolean): Promise<ClientFrame> {
  if (isBinary) return problem('KeyError', "'text'")
  const frame = await readJsonFrame(data)
  if ('detail' in frame) return problem('JSONDecodeError', frame.detail)
  if (isIntroduction(frame.value)) return { kind: 'auth' }
  const message = read(MessageFrame, frame.value, [])
  if (message.value === undefined) return problem('ValidationError', failuresOf(message))
  if (message.value.role !== 'user') return problem('AssertionError', 'Only user messages are accepted')
  return { kind: 'message', content: message.value.content }
}

const problem = (code: string, detail: string): ClientFrame => ({ kind: 'problem', code, detail })

/** JSON of a ServerErrorEvent: sent to one socket, never stored. */
export function serverError(code: string, detail: string): string {
  const at = { id: newEventId(), timestamp: eventTimestamp(new Date()) }
  return JSON.stringify({ kind: 'ServerErrorEvent', ...at, source: 'environment', code, detail })
}
