/** One part of a multipart/form-data body, as a stream: at most a few kilobytes are buffered. Source: RFC 7578. */
import type { Readable } from 'node:stream'
import { ParleyError } from '@parley/protocol'

/** Bytes of the headers of one part, and of everything between two parts. */
const MAX_HEAD_BYTES = 16 * 1024
/** Parts before the wanted one. */
const MAX_PARTS = 1000

/** The boundary of a multipart/form-data content type; null for every other type. */
export function boundaryOf(contentType: string | undefined): string | null {
  if (contentType === undefined || !/^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType)) return null
  const found = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType)
  return found?.[1] ?? found?.[2] ?? null
}

const unreadable = (why: string) => new ParleyError('bad_request', `There was an error parsing the body: ${why}`)
const ENDS_EARLY = 'it ends before its last boundary'

export type Part = {
  /** @throws ParleyError `bad_request` when the body ends early. */
  bytes: AsyncIterable<Buffer>
  /** Drops the rest of the body. */
  discard(): void
}

/**
 * The part called `name`; null when there is none. The body is read to its end, also after the part.
 * @throws ParleyError `bad_request` for a body that is malformed or ends early.
 */
export async function partOf(body: AsyncIterable<Uint8Array>, boundary: string, name: string): Promise<Part | null> {
  const { Busboy } = await import('@fastify/busboy')
  const parser = new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    limits: { parts: MAX_PARTS, headerSize: MAX_HEAD_BYTES },
    isPartAFile: () => true,
  })
  const found = Promise.withResolvers<Part | null>()
  const stopped = Promise.withResolvers<void>()
  let isStopped = false
  let hasProgress = false
  let wanted: Readable | undefined

  const stop = () => {
    isStopped = true
    stopped.resolve()
  }
  const fail = (error: ParleyError) => {
    found.reject(error)
    wanted?.destroy(error)
    stop()
  }
  parser.on('file', (partName: string, stream: Readable) => {
    hasProgress = true
    // A stream without this listener would end the process when the body ends early.
    stream.on('error', () => {})
    if (wanted !== undefined || partName !== name) return void stream.on('data', () => (hasProgress = true))
    wanted = stream
    stream.once('close', stop)
    found.resolve({ bytes: bytesOf(stream), discard: () => stream.destroy() })
  })
  parser.on('partsLimit', () => fail(unreadable('it has too many parts')))
  parser.on('error', () => fail(unreadable(ENDS_EARLY)))
  parser.on('finish', () => found.resolve(null))

  const feed = async () => {
    const source = body[Symbol.asyncIterator]()
    let idleBytes = 0
    for (;;) {
      const next = await source.next()
      if (next.done === true) return void (isStopped || parser.end())
      if (isStopped) continue
      hasProgress = false
      const hasRoom = parser.write(Buffer.from(next.value))
      idleBytes = hasProgress || wanted !== undefined ? 0 : idleBytes + next.value.length
      if (idleBytes > MAX_HEAD_BYTES) fail(unreadable('the headers of a part are too long'))
      if (!hasRoom) await Promise.race([new Promise((resolve) => parser.once('drain', resolve)), stopped.promise])
    }
  }
  feed().catch((cause: unknown) =>
    fail(new ParleyError('bad_request', 'The connection ended before the body did', { cause })),
  )
  return found.promise
}

async function* bytesOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    yield* stream
  } catch (error) {
    throw error instanceof ParleyError ? error : unreadable(ENDS_EARLY)
  }
}
