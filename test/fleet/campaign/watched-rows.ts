/** Reads the rows of all conversations again and again, and notices an epoch or a log that goes back. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { FleetStore } from '../../../packages/server/testing/fleet-store.ts'

const EVERY_MS = 20
const ROWS_SQL = `SELECT c.id, c.epoch::int AS epoch, c.seq::int AS seq, c.wants_owner AS wants, n.url
  FROM parley.conversations c LEFT JOIN parley.nodes n ON n.n = c.node`

type WatchedRow = { id: string; epoch: number; seq: number; wants: boolean; url: string | null }
/** `at`: `performance.now()` after the answer. */
type Reading = { at: number; rows: readonly WatchedRow[] }

export interface Watched extends AsyncDisposable {
  /** Rows whose epoch or log went back. */
  readonly faults: readonly string[]
  /** The first reading that was asked for after `work`, or after now. `at` is then the time at which `work` began. */
  next(work?: () => Promise<void>): Promise<Reading>
}

export function watchRows(store: FleetStore): Watched {
  const faults: string[] = []
  const newest = new Map<string, WatchedRow>()
  const waiting = new Set<(reading: Reading) => void>()
  const ending = new AbortController()
  let client: pg.Client | null = null as pg.Client | null
  let url = ''

  async function read(): Promise<readonly WatchedRow[]> {
    if (client === null || url !== store.url) {
      await client?.end().catch(() => undefined)
      url = store.url
      client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 5_000 })
      client.on('error', () => undefined)
      await client.connect()
    }
    return (await client.query<WatchedRow>(ROWS_SQL)).rows
  }

  const watching = (async () => {
    while (!ending.signal.aborted) {
      const asked = [...waiting]
      try {
        const rows = await read()
        for (const row of rows) {
          const before = newest.get(row.id)
          if (before !== undefined && row.epoch < before.epoch)
            faults.push(`${row.id}: epoch ${row.epoch} after ${before.epoch}`)
          if (before !== undefined && row.seq < before.seq) faults.push(`${row.id}: seq ${row.seq} after ${before.seq}`)
          newest.set(row.id, row)
        }
        for (const resolve of asked) {
          waiting.delete(resolve)
          resolve({ at: performance.now(), rows })
        }
      } catch {
        // The store is away.
        await client?.end().catch(() => undefined)
        client = null
      }
      await sleep(EVERY_MS)
    }
    await client?.end().catch(() => undefined)
  })()

  return {
    faults,
    async next(work) {
      const begun = performance.now()
      await work?.()
      const reading = await new Promise<Reading>((resolve) => waiting.add(resolve))
      return work === undefined ? reading : { ...reading, at: begun }
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await watching
    },
  }
}
