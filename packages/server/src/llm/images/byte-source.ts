/** Random access to the bytes of a file, which may be encoded as base64: a header is read without decoding the rest. Pure. */

export interface ByteSource {
  readonly length: number
  /** Returns `count` bytes; fewer at the end. */
  read(from: number, count: number): Buffer
}

export function ofBytes(bytes: Uint8Array): ByteSource {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { length: buffer.length, read: (from, count) => buffer.subarray(from, from + count) }
}

/** Characters that are decoded at once, so that many short reads in a row cost little. */
const BLOCK_CHARS = 4096

/** @param text base64 with its padding and nothing else, see `plainBase64` */
export function ofBase64(text: string): ByteSource {
  const length = (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
  let block = Buffer.alloc(0)
  let start = 0
  return {
    length,
    read(from, count) {
      const end = Math.min(from + count, length)
      if (from < start || end > start + block.length) {
        const quad = Math.floor(from / 3)
        start = quad * 3
        const chars = Math.max(BLOCK_CHARS, (Math.ceil(end / 3) - quad) * 4)
        block = Buffer.from(text.slice(quad * 4, quad * 4 + chars), 'base64')
      }
      return block.subarray(from - start, Math.max(from, end) - start)
    },
  }
}

/** Returns base64 in the form that vendors accept: one line, the common alphabet, padded. A text in that form is returned itself. */
export function plainBase64(text: string): string {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  // A search for what does not belong there needs no stack, however long the text is.
  const isPlain = text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding))
  return isPlain ? text : Buffer.from(text, 'base64').toString('base64')
}
