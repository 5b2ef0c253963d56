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

/** @param text base64 with its padding and nothing else, see `plainBase64` */
export function ofBase64(text: string): ByteSource {
  const length = (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
  return {
    length,
    read(from, count) {
      const first = Math.floor(from / 3)
      const quads = text.slice(first * 4, Math.ceil((from + count) / 3) * 4)
      return Buffer.from(quads, 'base64').subarray(from - first * 3, from - first * 3 + count)
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
