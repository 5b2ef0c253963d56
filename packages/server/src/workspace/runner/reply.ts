/** The answer to one request, from whichever part of the runner gives it. */
import { contentText, readSealed, type Content } from './bounded-output.ts'
import type { Result } from './ledger.ts'
import type { OutputStream, RefusalCode } from './protocol.ts'

export interface Reply {
  /** The claim of the asker, to turn it away when a newer one comes. */
  readonly epoch: number
  /** False once answered, or when the asker has left. */
  readonly isOpen: boolean
  chunk(stream: OutputStream, data: Buffer): void
  ok(answer: object): void
  refuse(code: RefusalCode, message: string): void
}

/** Raw bytes of one chunk frame. */
const CHUNK_BYTES = 512 * 1024

function sendContent(reply: Reply, stream: OutputStream, parts: readonly Buffer[]): void {
  for (const part of parts) {
    for (let from = 0; from < part.length; from += CHUNK_BYTES)
      reply.chunk(stream, part.subarray(from, from + CHUNK_BYTES))
  }
}

/** Answers an `exec` from its record: both streams, then how it ended. */
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

/** Answers a `terminal` call from its record. The place of what is missing is marked in the text. */
export function replyTerminal(reply: Reply, outputs: string, { answer, stdout }: Result): void {
  const { text, dropped } = joined(readSealed(outputs, stdout), stdout.chars)
  sendContent(reply, 'stdout', [Buffer.from(text, 'utf8')])
  reply.ok({ ...answer, dropped })
}

/** Content as one text. `chars` is how long it was before anything was left out. */
export function joined(content: Content, chars: number): { text: string; dropped: number } {
  const { head, tail } = contentText(content)
  if (content.dropped === 0) return { text: head, dropped: 0 }
  const dropped = Math.max(0, chars - head.length - tail.length)
  return { text: `${head}\n[${dropped} characters were not kept here]\n${tail}`, dropped }
}
