import type { FastifyReply, FastifyRequest } from 'fastify'

/** Largest part of a refused body that is read before the answer. */
const MOST_BYTES = 256 * 1024 * 1024
const LONGEST_MS = 30_000
/** A client that is silent for this long waits for the answer. */
const SILENT_MS = 1_000

/**
 * Reads and drops the rest of a refused body; resolves when the client has sent it all. Many clients read no answer before that,
 * and one whose connection breaks while it writes never sees the reason. For a body that is too long to wait for, it resolves early
 * and the rest is dropped behind the answer.
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
    release(chunk)
    silence.refresh()
    if (taken > MOST_BYTES) resolve()
  }
  const ends = ['end', 'close', 'error'] as const
  raw.on('data', count)
  for (const end of ends) raw.once(end, () => resolve())
  raw.resume()
  if (Number(raw.headers['content-length'] ?? 0) > MOST_BYTES) resolve()
  await promise
  clearTimeout(longest)
  clearTimeout(silence)
}

/** Frees the memory of a chunk that is not read. A fast sender otherwise leaves more than 100 MB before a garbage collection. */
function release(chunk: Buffer): void {
  const { buffer } = chunk
  // A smaller view shares its memory with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength) buffer.transfer(0)
}
