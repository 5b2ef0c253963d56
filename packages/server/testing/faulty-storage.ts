/** A store whose appends are refused or held back on command. Everything else is the wrapped store. */
import { ParleyError } from '@parley/protocol'
import type { NodeNumber, Storage } from '../src/storage/index.ts'

type Append = Parameters<Storage['conversations']['append']>[0]

export type AppendFaults = {
  /** Returns the error that refuses an append; null to pass it on. Default: passes everything on. */
  refuse: (append: Append) => Error | null
  /** Called before an append reaches the store, which waits for the result. */
  before: (append: Append) => Promise<void>
  /** Called after an append was stored; its rejection is the result of the append, as when the report of a commit is lost. */
  after: (append: Append) => Promise<void>
  /** The node that holds every conversation; null: the store decides. */
  holder: NodeNumber | null
  /** The error that refuses deletions; null: they are passed on. */
  deletion: Error | null
  /** Called before a deletion reaches the store. */
  beforeDeletion: () => Promise<void>
  /** The error that refuses to store that nothing of a deleted conversation is left; null: it is stored. */
  release: Error | null
  /** Returns the error of a read of events; null to pass it on. */
  refuseRead: () => Error | null
  /** Called before a read of events. */
  beforeRead: () => Promise<void>
  /** Appends that were refused by `refuse`. */
  refused: number
}

/** The error of a store on a full disk. */
export const diskFull = (): ParleyError =>
  new ParleyError('unavailable', 'store test: the disk is full: free some space', { details: { store: 'test' } })

export function faultyStorage(storage: Storage): { storage: Storage; faults: AppendFaults } {
  const nothing = async () => undefined
  const faults: AppendFaults = {
    refuse: () => null,
    before: nothing,
    after: nothing,
    refuseRead: () => null,
    holder: null,
    deletion: null,
    beforeDeletion: nothing,
    beforeRead: nothing,
    release: null,
    refused: 0,
  }
  const append = async (written: Append): Promise<void> => {
    await faults.before(written)
    const refusal = faults.refuse(written)
    if (refusal !== null) {
      faults.refused += 1
      throw refusal
    }
    await storage.conversations.append(written)
    await faults.after(written)
  }
  const own: Storage['conversations']['own'] = async (...asked) =>
    faults.holder === null ? storage.conversations.own(...asked) : { kind: 'held', by: faults.holder }
  const remove: Storage['conversations']['delete'] = async (...asked) => {
    if (faults.deletion !== null) throw faults.deletion
    await faults.beforeDeletion()
    return storage.conversations.delete(...asked)
  }
  const released: Storage['conversations']['released'] = async (id) => {
    if (faults.release !== null) throw faults.release
    return storage.conversations.released(id)
  }
  const events = new Proxy(storage.events, {
    get: (store, name) => {
      const read: unknown = Reflect.get(store, name)
      if (typeof read !== 'function') return read
      return async (...asked: unknown[]) => {
        await faults.beforeRead()
        const refusal = faults.refuseRead()
        if (refusal !== null) throw refusal
        return read.call(store, ...asked) as unknown
      }
    },
  })
  return {
    storage: { ...storage, events, conversations: { ...storage.conversations, own, append, released, delete: remove } },
    faults,
  }
}
