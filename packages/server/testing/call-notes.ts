/** Notes of calls in a real store, for tests of tools and workspaces without a server. */
import type { ConversationId } from '@parley/protocol'
import { openCipher } from '../src/secrets/index.ts'
import { openSqlite, type Storage } from '../src/storage/index.ts'
import { openCallNotes, type CallNotes, type OpenCallNotes } from '../src/workspace/index.ts'
import { conversation } from './store-fixtures.ts'

export type TestNotes = AsyncDisposable & {
  readonly storage: Storage
  /** Notes of conversations that `of` has made, whatever epoch is given. */
  readonly open: OpenCallNotes
  /** Makes the conversation where there is none. */
  of(id: ConversationId): Promise<CallNotes>
}

export async function openTestNotes(path = ':memory:'): Promise<TestNotes> {
  const storage = await openSqlite({ path })
  const cipher = await openCipher({ keyText: 'key of the test notes', keyFile: '', salt: '' })
  const notes = openCallNotes({ notes: storage.notes, cipher, proof: { noted: async () => undefined } })
  const open: OpenCallNotes = ({ id }) => notes({ id, epoch: 0 })
  return {
    storage,
    open,
    async of(id) {
      await storage.conversations.create(conversation({ id }))
      return open({ id, epoch: 0 })
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
