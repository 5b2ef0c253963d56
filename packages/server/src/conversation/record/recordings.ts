/**
 * Recordings that conversations play back, each in a file of the conversation's folder: they can be large, and every listing reads
 * the record. A file is named for its content, so that writing it twice creates one file.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { Recording } from '../../agent/index.ts'
import { writeDurably } from '../../lib/index.ts'

/** The reference to a recording in the record. */
export type RecordedReplay = { file: string; stop_on_divergence: boolean }

/** Writes a recording durably to the conversation's own folder. Resolves with the file's name. */
export async function keepRecording(folder: string, recording: Recording): Promise<string> {
  const text = JSON.stringify(recording)
  const file = `replay-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.json`
  await writeDurably(join(folder, file), text)
  return file
}

/** @throws ParleyError `unavailable` when the file is missing or damaged. */
export async function readRecording(folder: string, { file }: RecordedReplay): Promise<Recording> {
  try {
    return JSON.parse(await readFile(join(folder, file), 'utf8')) as Recording
  } catch (cause) {
    throw new ParleyError('unavailable', `The recording that this conversation plays cannot be read from ${file}.`, {
      cause,
    })
  }
}
