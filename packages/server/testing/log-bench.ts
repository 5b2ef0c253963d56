/** The durable side of one conversation over a real store whose appends fail on command. */
import { EMPTY_STATE, textContent, type Draft } from '@parley/protocol'
import { AppendRetry } from '../src/conversation/log/append-retry.ts'
import { userMessage } from '../src/conversation/drafts.ts'
import { LiveLog } from '../src/conversation/log/live-log.ts'
import type { LogDeps } from '../src/conversation/log/log-deps.ts'
import { Channel } from '../src/conversation/watch/channel.ts'
import { openSqlite, type Storage } from '../src/storage/index.ts'
import { faultyStorage } from './faulty-storage.ts'
import { conversation, own } from './store-fixtures.ts'

/** A message of a person. */
export const said = (text: string): Draft => userMessage([{ ...textContent(text), cache_prompt: false }])

/** A log of a new conversation of `ada`; each stamp is a second later. */
export async function openLog(path: string, changed: (storage: Storage) => Partial<LogDeps> = () => ({})) {
  const { storage, faults } = faultyStorage(await openSqlite({ path }))
  const draft = conversation({ owner: 'ada' })
  await storage.conversations.create(draft)
  const { row } = await own(storage, draft.id)
  const lost: boolean[] = []
  let time = Date.UTC(2026, 0, 1)
  const log = new LiveLog(
    { ...row, record: {} as never, state: EMPTY_STATE, view: null, cachedSeq: 0 },
    new Channel(0),
    {
      storage,
      stamps: { now: () => new Date((time += 1_000)) },
      notifies: () => false,
      writeRecord: () => '{}',
      mask: async (drafts) => drafts,
      maskForCommit: async (drafts, user) => ({ drafts, masked: { user, version: 0 } }),
      cipher: { seal: (text) => text, open: (text) => text },
      appendRetry: new AppendRetry(),
      pruning: { keepTokens: Infinity, leastTokens: Infinity },
      log: { warn: () => undefined, error: () => undefined },
      ...changed(storage),
    },
    { onLost: (hasNewOwner) => void lost.push(hasNewOwner), onCommit: async () => undefined },
  )
  return {
    log,
    storage,
    faults,
    lost,
    stored: () => storage.events.page(draft.id, { limit: 100 }),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
