/** Notes of calls that version 0.1.0 kept in files. None is added: docs/operations.md, The data directory. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The server makes call ids, but a file name must not depend on that. */
export const fileName = (callId: string): string => callId.replaceAll(/[^\w-]/g, '_')

const pathOf = (folder: string, callId: string): string => join(folder, `${fileName(callId)}.json`)

/** Text of a note; null when there is none. */
export async function readOldNote(folder: string, callId: string): Promise<string | null> {
  try {
    return await readFile(pathOf(folder, callId), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

export const removeOldNote = (folder: string, callId: string): Promise<void> =>
  rm(pathOf(folder, callId), { force: true })
