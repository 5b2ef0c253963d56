/** Encoder of WebSocket text frames; one buffer serves all subscribers. */

const FINAL_TEXT = 0x81

/** Bytes of an unmasked, uncompressed text frame, as a server sends it (RFC 6455, 5.2). */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const header = headerBytes(length)
  const frame = Buffer.allocUnsafe(header + length)
  writeHeader(frame, length)
  frame.write(text, header)
  return frame
}

/** What stands before the bytes of a text in its frame. */
export function frameHeader(length: number): Buffer {
  const header = Buffer.allocUnsafe(headerBytes(length))
  writeHeader(header, length)
  return header
}

/** The text of a frame that `textFrame` made. */
export function textOfFrame(frame: Buffer): Buffer {
  const length = frame[1]!
  return frame.subarray(length < 126 ? 2 : length === 126 ? 4 : 10)
}

const headerBytes = (length: number): number => (length < 126 ? 2 : length < 65_536 ? 4 : 10)

function writeHeader(frame: Buffer, length: number): void {
  frame[0] = FINAL_TEXT
  if (length < 126) frame[1] = length
  else if (length < 65_536) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
}
