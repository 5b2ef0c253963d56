/** Completion callbacks that version 0.1.0 kept in files. None is added: docs/operations.md, The data directory. */
import { readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationId } from '@parley/protocol'
import type { CallbackStore, NodeNumber } from '../storage/index.ts'

const PARKED = '.json.parked'

/** Moves the callbacks of a folder into the store, where no node sends them yet. One that is cut off is moved by the next start. */
export async function takeOldCallbacks(folder: string, store: CallbackStore, node: NodeNumber): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (names === null) return
  for (const name of names.filter((each) => each.endsWith('.json') || each.endsWith(PARKED))) {
    const json = await readFile(join(folder, name), 'utf8')
    type Old = { id: string; conversation_id: ConversationId; callback: object | null }
    const { id, conversation_id, callback } = JSON.parse(json) as Old
    const isParked = name.endsWith(PARKED)
    // One that is to be parked is taken by no node before.
    await store.put({ id, conversation_id, is_open: callback === null, json }, isParked ? node : null)
    if (isParked) await store.park(id)
    await rm(join(folder, name), { force: true })
  }
  await rmdir(folder).catch(() => undefined)
}
