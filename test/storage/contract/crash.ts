/** S4 as far as a process can show it: killed at any moment, nothing that was acknowledged is missing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import {
  at,
  type MakePlace,
  notifications,
  range,
  recount,
  seqs,
} from '../../../packages/server/testing/store-fixtures.ts'
import { STREAMED } from '../stream-appends.ts'

/** Starts the writer, kills it after `lines` acknowledgements, and returns the newest acknowledged seq of each conversation. */
async function runAndKill(writer: readonly string[], lines: number): Promise<number[]> {
  const [program = '', ...args] = writer
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const acknowledged = STREAMED.map(() => 0)
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const [index, seq] = line.split(' ').map(Number)
    // The line that the kill cut off is no acknowledgement.
    if (index === undefined || seq === undefined || !(index in acknowledged)) continue
    acknowledged[index] = Math.max(acknowledged[index] ?? 0, seq)
    if (++seen === lines) child.kill('SIGKILL')
  }
  const [, signal] = (await closed) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
  return acknowledged
}

export function crashContract(makePlace: MakePlace): void {
  describe('a process killed in the middle of appends', () => {
    test('a process killed during appends leaves every acknowledged append, complete and dense', async () => {
      await using place = await makePlace()
      for (const lines of [1, 40, 301]) {
        const acknowledged = await runAndKill(place.writer, lines)
        await using storage = await place.open()
        const outbox = await notifications(storage)
        for (const [index, id] of STREAMED.entries()) {
          const row = await storage.conversations.get(id)
          const newest = acknowledged[index] ?? 0
          if (row === null) {
            expect(newest).toBe(0)
            continue
          }
          expect(row.seq).toBeGreaterThanOrEqual(newest)
          expect(seqs(await storage.events.page(id, { limit: 100_000 }))).toEqual(range(1, row.seq))
          // All or nothing: the cached state and the newest outbox row belong to the newest append.
          const [state] = await storage.conversations.states([id])
          expect(state?.seq ?? 0).toBe(row.seq)
          const rows = outbox.filter(({ conversation_id }) => conversation_id === id)
          expect(Number(rows.at(-1)?.payload ?? 0)).toBe(row.seq)
          expect(rows.map(({ sequence }) => sequence)).toEqual(range(1, rows.length))
        }
        const { bytes, cost } = await recount(storage, STREAMED)
        const used = await storage.usage.of('ada', new Date(at(0)))
        expect(used).toMatchObject({ stored_bytes: bytes, cost_usd: cost })
      }
    })
  })
}
