/** Notes of calls and files of conversations in a real store, for tests of tools and workspaces without a server. */
import type { ConversationId } from '@parley/protocol'
import { openCipher } from '../src/secrets/index.ts'
import { openSqlite, type Storage } from '../src/storage/index.ts'
import {
  openCallNotes,
  openConversationFiles,
  type CallNotes,
  type ConversationFiles,
  type OpenCallNotes,
} from '../src/workspace/index.ts'
import { conversation } from './store-fixtures.ts'

export type TestNotes = AsyncDisposable & {
  readonly storage: Storage
  /** Notes of conversations that `of` has made, whatever epoch is given. */
  readonly open: OpenCallNotes
  /** Makes the conversation where there is none. */
  of(id: ConversationId): Promise<CallNotes>
  /** The services of its tools that need a store. Makes the conversation where there is none. */
  servicesOf(id: ConversationId): Promise<{ notes: CallNotes; files: ConversationFiles }>
}

export async function openTestNotes(path = ':memory:'): Promise<TestNotes> {
  const storage = await openSqlite({ path })
  const cipher = await openCipher({ keyText: 'key of the test notes', keyFile: '', salt: '' })
  const notes = openCallNotes({ notes: storage.notes, cipher, proof: { noted: async () => undefined } })
  const open: OpenCallNotes = ({ id }) => notes({ id, epoch: 0 })
  const files = openConversationFiles({ files: storage.files, cipher, folderOf: () => '/nowhere' })
  const of = async (id: ConversationId) => {
    await storage.conversations.create(conversation({ id }))
    return open({ id, epoch: 0 })
  }
  return {
    storage,
    open,
    of,
    servicesOf: async (id) => ({ notes: await of(id), files: files({ id, epoch: 0 }) }),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
