import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The key that the first start made, for the command line; null when it was removed. */
export async function readFirstKey(dataDir: string): Promise<string | null> {
  try {
    return (await readFile(join(dataDir, 'first-key'), 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
