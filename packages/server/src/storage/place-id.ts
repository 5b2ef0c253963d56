/** The id of a data directory, under which the nodes of a shared store know what belongs to it. It stays with a copy that replaces the directory. */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { writeDurably } from '../lib/index.ts'
import type { PlaceId } from './contract/nodes.ts'

const FILE = 'place'
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Reads the id of a data directory, which this process has locked; makes one when there is none.
 * @throws ParleyError `unavailable` for a file with another content; the system's error
 */
export async function placeIdOf(dataDir: string): Promise<PlaceId> {
  const path = join(dataDir, FILE)
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (known === null) {
    const id = randomUUID()
    await writeDurably(path, id)
    return id
  }
  if (ID.test(known.trim())) return known.trim()
  throw new ParleyError(
    'unavailable',
    `${path} does not contain the id of this data directory: restore it from a backup, or remove it, and conversations with files here are not found any more`,
  )
}
