import type { FastifyReply, FastifyRequest } from 'fastify'

/** What is taken of a refused body before it is answered. */
const MOST_BYTES = 256 * 1024 * 1024
const LONGEST_MS = 30_000
/** A client that sends nothing for so long waits for the answer. */
const SILENT_MS = 1_000

/**
 * Lets what is left of a refused body run through unkept, and ends when the client has sent it all: many clients read no answer
 * before that, and one whose connection breaks while it writes never sees why it was refused. A body that is longer than anybody
 * waits for, or that may have no end, is answered right away and runs through behind the answer.
 */
export async function takeTheRest({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.removeHeader('connection')
  if (raw.readableEnded || raw.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const longest = setTimeout(resolve, LONGEST_MS)
  const silence = setTimeout(resolve, SILENT_MS)
  let taken = 0
  const count = (chunk: Buffer) => {
    taken += chunk.length
    silence.refresh()
    if (taken > MOST_BYTES) resolve()
  }
  const ends = ['end', 'close', 'error'] as const
  raw.on('data', count)
  for (const end of ends) raw.once(end, () => resolve())
  raw.resume()
  const length = Number(raw.headers['content-length'] ?? Infinity)
  if (length > MOST_BYTES) resolve()
  await promise
  clearTimeout(longest)
  clearTimeout(silence)
}
