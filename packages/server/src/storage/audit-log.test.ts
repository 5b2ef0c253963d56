import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { AuditLog } from './audit-log.ts'
import { type AuditEntry, openSqlite } from './index.ts'

const ann = { user: 'ann', keyId: 'k1' }
const done = (status: number, conversationId?: string) => ({ action: 'POST /x', actor: ann, status, conversationId })

test('audit entries that the store refuses are written by a later flush, in order, and each failure is logged once', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  const logged: object[] = []
  let refusals = 2
  const add = async (entries: readonly AuditEntry[]) => {
    if (refusals-- > 0) throw new Error('the disk is full')
    await storage.audit.add(entries)
  }
  const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => void logged.push(fields) }
  const audit = new AuditLog({ ...storage.audit, add }, log)
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
