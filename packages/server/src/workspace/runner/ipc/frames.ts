/** Newline-delimited JSON frames, the format of the runner's socket. Binary data is base64. */

/** Bytes of one frame, including its newline. The connection of a peer that sends more is closed. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024

export const encodeFrame = (frame: object): string => `${JSON.stringify(frame)}\n`

/** Splits a byte stream into frames. Keeps at most one unfinished frame in memory. */
export class FrameReader {
  #parts: Buffer[] = []
  #held = 0

  /**
   * Returns the frames that `chunk` completes.
   * @throws Error when a frame is too large or not a JSON object; the connection cannot be used any more.
   */
  push(chunk: Buffer): Record<string, unknown>[] {
    const frames: Record<string, unknown>[] = []
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end))
      const parts = this.#parts
      this.#parts = []
      this.#held = 0
      frames.push(parse(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)))
      from = end + 1
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from))
    return frames
  }

  #keep(part: Buffer): void {
    this.#held += part.length
    if (this.#held >= MAX_FRAME_BYTES) throw new Error(`a frame exceeds ${MAX_FRAME_BYTES} bytes`)
    this.#parts.push(part)
  }
}

function parse(line: Buffer): Record<string, unknown> {
  const value: unknown = JSON.parse(line.toString('utf8'))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('a frame is not an object')
  return value as Record<string, unknown>
}
