import { fstatSync, ftruncateSync, writeSync } from 'node:fs'

/**
 * Returns a function that appends a line with time and process id to the open file `fd`. A file that would exceed `maxBytes` is
 * emptied before, so that it contains the newest lines and never grows without bound.
 * @param fd opened for appending; anything but a file is only written to
 */
export function boundedLog(fd: number, maxBytes: number): (text: string) => void {
  return (text) => {
    const line = Buffer.from(`${new Date().toISOString()} [${process.pid}] ${text}\n`).subarray(0, maxBytes)
    const file = fstatSync(fd)
    if (file.isFile() && file.size + line.length > maxBytes) ftruncateSync(fd)
    writeSync(fd, line)
  }
}
