/**
 * One part of a multipart/form-data body, as it comes in: nothing but a few kilobytes is ever held.
 * Source: RFC 7578, RFC 2046 5.1.
 */
import { ParleyError } from '@parley/protocol'

const CRLF = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
/** Bytes of the headers of one part. */
const MAX_HEAD_BYTES = 16 * 1024
/** Parts that are passed over. */
const MAX_PARTS = 1000

/** The boundary of a multipart/form-data content type; null for every other type. */
export function boundaryOf(contentType: string | undefined): string | null {
  if (contentType === undefined || !/^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType)) return null
  const found = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType)
  return found?.[1] ?? found?.[2] ?? null
}

/**
 * The bytes of the part called `name`; null when there is none.
 * @throws ParleyError `bad_request` for a body that is none, or ends too early; also while the bytes are read.
 */
export async function partOf(
  body: AsyncIterable<Uint8Array>,
  boundary: string,
  name: string,
): Promise<AsyncIterable<Buffer> | null> {
  const input = new Input(body)
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  for (let parts = 0; parts < MAX_PARTS; parts++) {
    for await (const _ of input.upTo(delimiter)) continue
    const rest = await input.line()
    if (rest.startsWith('--')) return null
    const head = await input.head()
    if (nameOf(head) === name) return input.upTo(delimiter)
  }
  throw unreadable('it has too many parts')
}

const unreadable = (why: string) => new ParleyError('bad_request', `There was an error parsing the body: ${why}`)

function nameOf(head: string): string | undefined {
  const disposition = head.split('\r\n').find((line) => /^content-disposition\s*:/i.test(line)) ?? ''
  const found = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(disposition)
  return found?.[1]?.replaceAll(/\\(.)/g, '$1') ?? found?.[2]
}

class Input {
  readonly #source: AsyncIterator<Uint8Array>
  /** Begins with the line end that the first delimiter need not have. */
  #held: Buffer = CRLF

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#source = body[Symbol.asyncIterator]()
  }

  /** What comes before `mark`, which is taken too. */
  async *upTo(mark: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(mark)
      if (at !== -1) {
        const piece = this.#held.subarray(0, at)
        this.#held = this.#held.subarray(at + mark.length)
        if (piece.length > 0) yield piece
        return
      }
      // The end of what is held may be the beginning of the mark.
      const sure = this.#held.length - mark.length + 1
      if (sure > 0) {
        const piece = this.#held.subarray(0, sure)
        this.#held = this.#held.subarray(sure)
        yield piece
      }
      await this.#more()
    }
  }

  /** The rest of a delimiter's line: nothing, or two dashes at the very end, where no line end need follow. */
  async line(): Promise<string> {
    while (this.#held.length < 2) await this.#more()
    if (this.#held.subarray(0, 2).toString('latin1') === '--') return '--'
    return this.#short(CRLF)
  }

  /** The headers of a part; there may be none. */
  async head(): Promise<string> {
    while (this.#held.length < 2) await this.#more()
    if (this.#held.subarray(0, 2).equals(CRLF)) {
      this.#held = this.#held.subarray(2)
      return ''
    }
    return this.#short(HEAD_END)
  }

  async #short(mark: Buffer): Promise<string> {
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of this.upTo(mark)) {
      bytes += piece.length
      if (bytes > MAX_HEAD_BYTES) throw unreadable('the headers of a part are too long')
      pieces.push(piece)
    }
    return Buffer.concat(pieces).toString('utf8')
  }

  async #more(): Promise<void> {
    const next = await this.#source.next().catch((cause: unknown) => {
      throw new ParleyError('bad_request', 'The connection ended before the body did', { cause })
    })
    if (next.done === true) throw unreadable('it ends before its last boundary')
    this.#held = this.#held.length === 0 ? Buffer.from(next.value) : Buffer.concat([this.#held, next.value])
  }
}
