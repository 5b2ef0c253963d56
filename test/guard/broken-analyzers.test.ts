/**
 * Analyzers that throw: their stored configuration was valid once and cannot be used any more, because the disk has changed
 * it or a list is no longer supported.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { asked, ofKind, startRunning, type Running } from '../../packages/server/testing/restartable-server.ts'
import {
  analyzerConfigs,
  runMessageAsCommand,
  startMonitor,
  HARMLESS,
} from '../../packages/server/testing/guarded-conversations.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'

/** Confirms HIGH but not UNKNOWN, so that a waiting call was rated HIGH. */
const HIGH_ONLY = { kind: 'ConfirmRisky', confirm_unknown: false }
const PATTERN = { kind: 'PatternSecurityAnalyzer', high_patterns: [['format-everything', 'never', 'own']] }

/** Replaces a text in the stored data of a conversation while the server runs. */
async function damage(server: Running, id: string, what: RegExp, by: string): Promise<void> {
  const query = <Row>(text: string, ...values: (string | number)[]) =>
    queryStore<Row>(server.file('data'), text, ...values)
  const [{ n } = { n: 0 }] = await query<{ n: number }>('SELECT n FROM conversations WHERE id = ?', id)
  let changed = 0
  for (const [table, column] of [
    ['states', 'json'],
    ['events', 'event'],
  ] as const) {
    const rows = await query<{ seq: number; text: string }>(
      `SELECT seq, ${column} AS text FROM ${table} WHERE conversation = ?`,
      n,
    )
    for (const { seq, text } of rows) {
      const damaged = text.replaceAll(what, by)
      if (damaged === text) continue
      await query(`UPDATE ${table} SET ${column} = ? WHERE conversation = ? AND seq = ?`, damaged, n, seq)
      changed += 1
    }
  }
  expect(changed).toBeGreaterThan(0)
}

test('an analyzer that throws counts as HIGH and can be replaced, and other conversations continue', async () => {
  await using monitor = await startMonitor()
  monitor.answer = (response) => response.writeHead(200).end('{"violation":0.1}')
  const { vendor } = analyzerConfigs(() => ({ monitor: monitor.url, guardrail: '' }))
  const children = [{ kind: 'PolicyRailSecurityAnalyzer' }, vendor()]
  await using server = await startRunning(runMessageAsCommand, {}, 'process')
  const start = (security_analyzer: unknown, policy: object = HIGH_ONLY) =>
    server.start({ security_analyzer, confirmation_policy: policy })
  const tame = async (id: string, ...statuses: string[]) => {
    await server.say(id, HARMLESS)
    return server.until(id, ...statuses)
  }
  const ids = {
    vendor: await start(vendor()),
    ensemble: await start({ kind: 'EnsembleSecurityAnalyzer', analyzers: children }),
    pattern: await start(PATTERN),
    unasked: await start(PATTERN, { kind: 'NeverConfirm' }),
    other: await start({ kind: 'PolicyRailSecurityAnalyzer' }),
  }
  const broken = [ids.vendor, ids.ensemble, ids.pattern]
  for (const id of Object.values(ids)) await tame(id, 'finished')

  // Encrypted texts end with an authentication tag. An expression with look-ahead is never accepted.
  for (const id of [ids.vendor, ids.ensemble])
    await damage(server, id, /("api_key":"v1:[0-9a-f]{8}:[^"]+?)[^"]{8}"/g, '$1AAAAAAAA"')
  for (const id of [ids.pattern, ids.unasked]) await damage(server, id, /format-everything/g, '(?=everything)')
  await server.kill()

  for (const id of broken) await tame(id, 'waiting_for_confirmation')
  for (const id of broken) {
    const events = await server.events(id)
    expect(ofKind(events, 'ActionEvent').map((event) => event.security_risk)).toEqual(['LOW', 'HIGH'])
    expect(Object.values(asked(events))).toEqual(['HIGH'])
  }
  await tame(ids.unasked, 'finished')
  expect(ofKind(await server.events(ids.unasked), 'ActionEvent').at(-1).security_risk).toBe('HIGH')
  // Other conversations are analysed as usual while three wait.
  await tame(ids.other, 'finished')
  expect(ofKind(await server.events(ids.other), 'ActionEvent').map((event) => event.security_risk)).toEqual([
    'LOW',
    'LOW',
  ])

  for (const id of broken) {
    const { status } = await server.call('POST', `/api/conversations/${id}/events/respond_to_confirmation`, {
      accept: false,
      reason: 'no',
    })
    expect(status).toBe(200)
    await server.until(id, 'idle')
    const changed = await server.call('POST', `/api/conversations/${id}/security_analyzer`, {
      security_analyzer: { kind: 'PolicyRailSecurityAnalyzer' },
    })
    expect(changed.status).toBe(200)
    await tame(id, 'finished')
    expect(existsSync(join(server.work(id), 'tame'))).toBe(true)
    expect(ofKind(await server.events(id), 'ActionEvent').at(-1).security_risk).toBe('LOW')
  }
}, 120_000)
