/** Program of the process that a test kills: appends for ever and prints what was acknowledged. */
import { asConversationId } from '@parley/protocol'
import { writeSync } from 'node:fs'
import type { Storage } from '../../packages/server/src/storage/index.ts'
import {
  conversation,
  messages,
  nextAppend,
  otherEvent,
  own,
  told,
} from '../../packages/server/testing/store-fixtures.ts'

/** Conversations written concurrently; the ids are fixed, so that the next process continues with them. */
export const STREAMED = [1, 2, 3, 4].map((n) => asConversationId(`00000000-0000-4000-8000-00000000000${n}`))

/** Appends one to three events at a time to each conversation and writes `<index> <seq>` after each acknowledgement. */
export async function streamAppends(storage: Storage): Promise<never> {
  await told(storage)
  await Promise.all(
    STREAMED.map(async (id, index): Promise<never> => {
      await storage.conversations.create(conversation({ id }))
      let { row } = await own(storage, id)
      for (let turn = 0; ; turn++) {
        const seq = row.seq + 1 + (turn % 3)
        const state = { seq, json: `{"seq":${seq}}` }
        const outbox = [{ topic: 'appended', payload: String(seq) }]
        const answer = otherEvent('UsageRecordedEvent', { cost: 1 })
        const events = [{ seq: row.seq + 1, event: answer }, ...messages(seq - row.seq - 1, row.seq + 2)]
        await storage.conversations.append(nextAppend(row, events.length, { events, state, outbox }))
        writeSync(1, `${index} ${seq}\n`)
        row = { ...row, seq }
      }
    }),
  )
  throw new Error('the stream has ended')
}
