import { ParleyError } from '@parley/protocol'
import { MAX_FILE_PART, type ConversationFile } from '../contract/files.ts'

/** Bytes of files as they are stored. @throws ParleyError `too_large` for a part that is too long */
export function bytesOfFiles(files: readonly ConversationFile[]): number {
  let bytes = 0
  for (const { name, parts } of files)
    for (const part of parts) {
      const size = Buffer.byteLength(part)
      if (size > MAX_FILE_PART)
        throw new ParleyError('too_large', `a part of the file ${name} has ${size} bytes, more than ${MAX_FILE_PART}`)
      bytes += size
    }
  return bytes
}
