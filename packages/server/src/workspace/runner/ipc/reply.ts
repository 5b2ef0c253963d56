/** The answer to one request. */
import { isDiskFull } from '../../../lib/index.ts'
import { contentText, readSealed, type Content } from '../ledger/bounded-output.ts'
import type { Result } from '../ledger/call.ts'
import { Refusal, type OutputStream, type RefusalCode, type RefusalReason } from './protocol.ts'

export interface Reply {
  /** Epoch of the sender, which is refused when a newer one arrives. */
  readonly epoch: number
  /** False once answered, or when the sender has disconnected. */
  readonly isOpen: boolean
  chunk(stream: OutputStream, data: Buffer): void
  /** Shows output before the answer. */
  live(text: string): void
  ok(answer: object): void
  refuse(code: RefusalCode, message: string, reason?: RefusalReason): void
}

/** Refuses a request because of an error. The ledger is written before a call begins, so a full disk means that none has begun. */
export function refuseWith(reply: Reply, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Refusal) return reply.refuse(error.code, message)
  if (isDiskFull(error))
    return reply.refuse('unavailable', `the disk of the runner is full: ${message}`, 'not_recorded')
  reply.refuse('internal', message)
}

/** Bytes of one chunk frame before base64. */
const CHUNK_BYTES = 512 * 1024

function sendContent(reply: Reply, stream: OutputStream, parts: readonly Buffer[]): void {
  for (const part of parts) {
    for (let from = 0; from < part.length; from += CHUNK_BYTES)
      reply.chunk(stream, part.subarray(from, from + CHUNK_BYTES))
  }
}

/** Answers an `exec` request from its result: both streams, then the exit. */
export function replyExec(reply: Reply, outputs: string, { answer, stdout, stderr }: Result): void {
  const dropped = { stdout: 0, stderr: 0 }
  for (const [stream, sealed] of [
    ['stdout', stdout],
    ['stderr', stderr],
  ] as const) {
    if (sealed === null) continue
    const content = readSealed(outputs, sealed)
    dropped[stream] = content.dropped
    sendContent(reply, stream, [content.head, content.tail])
  }
  reply.ok({ ...answer, dropped })
}

/** Answers a `terminal` request from its result. The text marks where output is missing. */
export function replyTerminal(reply: Reply, outputs: string, { answer, stdout }: Result): void {
  const { text, dropped } = joined(readSealed(outputs, stdout), stdout.chars)
  sendContent(reply, 'stdout', [Buffer.from(text, 'utf8')])
  reply.ok({ ...answer, dropped })
}

/** Content as one text. `chars` is the length of the complete text. */
export function joined(content: Content, chars: number): { text: string; dropped: number } {
  const { head, tail } = contentText(content)
  if (content.dropped === 0) return { text: head, dropped: 0 }
  const dropped = Math.max(0, chars - head.length - tail.length)
  return { text: `${head}\n[${dropped} characters were not kept here]\n${tail}`, dropped }
}
