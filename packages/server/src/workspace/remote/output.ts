/** Output of programs on another server as text. */
import { PlainText } from '../runner/terminal/plain-text.ts'

/** Output as a terminal would show it. The beginning and the end of a long output are separated by a line break. */
export function plainText(head: Buffer, tail: Buffer): string {
  const pieces = [head, ...(tail.length === 0 ? [] : [tail])].map((bytes) => {
    let text = ''
    const plain = new PlainText(
      (more) => {
        text += more
      },
      () => undefined,
    )
    plain.write(bytes)
    plain.flush()
    return text
  })
  return pieces.join('\n')
}

/** The first and the last bytes of an output longer than `maxBytes`, and the number of bytes between them. */
export function bounded(bytes: Buffer, maxBytes: number): { text: string; dropped: number } {
  if (bytes.length <= maxBytes) return { text: bytes.toString('utf8'), dropped: 0 }
  const half = maxBytes >> 1
  const text = `${bytes.subarray(0, half).toString('utf8')}${bytes.subarray(bytes.length - half).toString('utf8')}`
  return { text, dropped: bytes.length - 2 * half }
}
