import { fstatSync, ftruncateSync, writeSync } from 'node:fs'

/**
 * Returns a function that appends a line with time and process id to the open file `fd`. A file that would exceed `maxBytes` is
 * emptied before, so that it contains the newest lines and never grows without bound. A line that the disk refuses is dropped: a
 * process must not end because it cannot log.
 * @param fd opened for appending; anything but a file is only written to
 */
export function boundedLog(fd: number, maxBytes: number): (text: string) => void {
  return (text) => {
    const line = Buffer.from(`${new Date().toISOString()} [${process.pid}] ${text}\n`).subarray(0, maxBytes)
    try {
      const file = fstatSync(fd)
      if (file.isFile() && file.size + line.length > maxBytes) ftruncateSync(fd)
      writeSync(fd, line)
    } catch {
      // The disk is full or has failed, and there is no other place for the line.
    }
  }
}
