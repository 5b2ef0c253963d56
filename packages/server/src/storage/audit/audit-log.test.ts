import { expect, test } from 'vitest'
import type { AuditSink } from '../../observability/index.ts'
import { tempDir } from '../../../testing/temp.ts'
import { AuditLog } from './audit-log.ts'
import { type AuditStore, openSqlite } from '../index.ts'

const ann = { user: 'ann', keyId: 'k1' }
const done = (status: number, conversationId?: string) => ({ action: 'POST /x', actor: ann, status, conversationId })

test('audit entries that the store refuses are written by a later flush, in order, and each failure is logged once', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  const logged: object[] = []
  let refusals = 2
  const write: AuditStore['write'] = async (entries, repeats) => {
    if (refusals-- > 0) throw new Error('the disk is full')
    return storage.audit.write(entries, repeats)
  }
  const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => void logged.push(fields) }
  const audit = new AuditLog({ ...storage.audit, write }, log)
  audit.note(done(200))
  await audit.flush()
  audit.note(done(201))
  await audit.flush()
  expect((await storage.audit.list({ limit: 9 })).items).toEqual([])
  audit.note(done(202))
  await audit.close()
  expect((await storage.audit.list({ limit: 9 })).items.map(({ status }) => status)).toEqual([202, 201, 200])
  expect(logged).toHaveLength(2)
})

test('audit entries noted after close are still written', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  const audit = new AuditLog(storage.audit, { debug() {}, info() {}, warn() {}, error() {} })
  await audit.close()
  audit.note(done(200, '0F0E0D0C0B0A49088706050403020100'))
  audit.note(done(404, 'not an id'))
  await audit.flush()
  const { items } = await storage.audit.list({ limit: 9 })
  expect(items.map(({ status, conversation_id }) => [status, conversation_id])).toEqual([
    [404, null],
    [200, '0f0e0d0c-0b0a-4908-8706-050403020100'],
  ])
})

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const T0 = Date.parse('2026-01-01T00:00:00Z')

/** An audit log with a clock of its own. */
async function openAudit(options: { maxRows?: number; sinks?: AuditSink[] } = {}) {
  const dir = await tempDir()
  const storage = await openSqlite({ path: dir.file('parley.db') })
  const clock = { now: T0 }
  const audit = new AuditLog(storage.audit, silent, { ...options, now: () => new Date(clock.now) })
  return {
    audit,
    clock,
    storage,
    rows: async (user?: string) => (await audit.list({ limit: 1000, ...(user === undefined ? {} : { user }) })).items,
    async [Symbol.asyncDispose]() {
      await audit.close()
      await storage[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

test('refused requests that are alike are one entry with a count, for an hour', async () => {
  await using at = await openAudit()
  for (let times = 0; times < 5000; times++) at.audit.note(done(404))
  at.audit.note(done(403))
  await at.audit.flush()
  at.clock.now += 3_000_000
  at.audit.note(done(404))
  at.clock.now += 700_000
  at.audit.note(done(404))
  expect((await at.rows()).map(({ status, count, until }) => [status, count, until])).toEqual([
    [404, 1, null],
    [403, 1, null],
    [404, 5001, new Date(T0 + 3_000_000).toISOString()],
  ])
})

test('an entry that counts requests about several conversations names none', async () => {
  await using at = await openAudit()
  const ids = ['0f0e0d0c-0b0a-4908-8706-050403020100', '0f0e0d0c-0b0a-4908-8706-050403020101']
  for (const id of ids) at.audit.note(done(404, id))
  expect(await at.rows()).toMatchObject([{ conversation_id: null, count: 2 }])
})

test('successful requests have entries of their own up to a hundred an hour, and are counted beyond', async () => {
  await using at = await openAudit()
  for (let times = 0; times < 1000; times++) at.audit.note(done(200))
  const rows = await at.rows()
  expect([rows.length, rows.map(({ count }) => count).reduce((a, b) => a + b)]).toEqual([101, 1000])
})

test("a flood of one user's requests removes no entry of another user", async () => {
  await using at = await openAudit({ maxRows: 50 })
  at.audit.note({ ...done(200), actor: { user: 'admin', keyId: 'k0' }, action: 'POST /api/keys' })
  for (let n = 0; n < 3000; n++) at.audit.note({ ...done(200), action: `PUT /x/${n}` })
  await at.audit.flush()
  for (let n = 0; n < 1000; n++) at.audit.note({ ...done(200), action: `PUT /y/${n}` })
  await at.audit.flush()
  expect(await at.rows('admin')).toHaveLength(1)
  expect((await at.rows('ann')).map(({ action }) => action)).toEqual(
    Array.from({ length: 50 }, (_, index) => `PUT /y/${999 - index}`),
  )
})

test('entries older than ninety days are removed, also of users without new ones', async () => {
  await using at = await openAudit()
  at.audit.note({ ...done(200), actor: { user: 'bob', keyId: 'k2' } })
  await at.audit.flush()
  at.clock.now += 91 * 24 * 3_600_000
  for (let n = 0; n < 1000; n++) at.audit.note({ ...done(200), action: `PUT /x/${n}` })
  await at.audit.flush()
  expect(await at.rows('bob')).toEqual([])
})

test('sinks get every request: new entries at once, and the number of repeats at the end', async () => {
  const records: object[] = []
  const sink: AuditSink = { write: (record) => void records.push(record), close: async () => {} }
  {
    await using at = await openAudit({ sinks: [sink] })
    for (let times = 0; times < 7; times++) at.audit.note(done(404))
    at.audit.noteWrongKey('192.0.2.1')
  }
  expect(records).toMatchObject([
    { user: 'ann', status: 404, count: 1, until: null },
    { user: '', action: 'LOGIN', status: 401, detail: '192.0.2.1', count: 1 },
    { user: 'ann', status: 404, count: 6 },
  ])
})
