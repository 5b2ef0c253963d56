/**
 * Recordings that conversations play back, each a file of its conversation: they can be large, and every listing reads the record. A
 * file is named for its content.
 */
import { createHash } from 'node:crypto'
import { ParleyError } from '@parley/protocol'
import type { Recording } from '../../agent/index.ts'
import type { Cipher } from '../../secrets/index.ts'
import type { ConversationFile } from '../../storage/index.ts'
import { sealedFile, type ConversationFiles } from '../../workspace/index.ts'

/** The reference to a recording in the record. */
export type RecordedReplay = { file: string; stop_on_divergence: boolean }

/** A recording as a file of its conversation. */
export function recordingFile(recording: Recording, cipher: Pick<Cipher, 'seal'>): ConversationFile {
  const text = JSON.stringify(recording)
  return sealedFile(`replay-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.json`, text, cipher)
}

/** @throws ParleyError `unavailable` when the file is missing or damaged. */
export async function readRecording(files: ConversationFiles, { file }: RecordedReplay): Promise<Recording> {
  const refused = (cause?: unknown) =>
    new ParleyError('unavailable', `The recording that this conversation plays cannot be read from ${file}.`, { cause })
  let text: string | null
  try {
    text = await files.read(file)
  } catch (cause) {
    throw refused(cause)
  }
  if (text === null) throw refused()
  try {
    return JSON.parse(text) as Recording
  } catch (cause) {
    throw refused(cause)
  }
}
