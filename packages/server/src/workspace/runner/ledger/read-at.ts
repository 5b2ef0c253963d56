import { readSync } from 'node:fs'

/** Bytes of an open file from `position` on; fewer than `length` where it ends before. */
export function readAt(fd: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const got = readSync(fd, buffer, read, length - read, position + read)
    if (got === 0) break
    read += got
  }
  return buffer.subarray(0, read)
}
