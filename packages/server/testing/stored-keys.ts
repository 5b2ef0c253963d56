/** Keys written to a store as they are, for tests with several users in any mode. */
import { randomUUID } from 'node:crypto'
import { makeKey } from '../src/secrets/index.ts'
import type { Role } from '../src/storage/index.ts'
import { openChosenStore } from './store-choice.ts'

/** Makes a key for each user and role, without first settings; returns the keys in the same order. A server may use the store. */
export async function storeKeys(
  dataDir: string,
  ...of: readonly (readonly [user: string, role: Role])[]
): Promise<string[]> {
  await using storage = await openChosenStore(dataDir)
  const keys: string[] = []
  for (const [user, role] of of) {
    const { key, hash } = makeKey()
    await storage.keys.create({ id: randomUUID(), user, role, hash, label: null, expires_at: null })
    keys.push(key)
  }
  return keys
}
