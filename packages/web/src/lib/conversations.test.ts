import { expect, test } from 'vitest'
import { filtered, inOrderOf, sectionsOf, shownStatus } from './conversations.ts'

const NOW = Date.parse('2026-11-24T12:00:00Z')
const NONE_WAITING = new Set<string>()
let count = 0
const item = (members: object = {}) => ({
  conversation_id: `c${++count}`,
  status: 'RUNNING' as const,
  runtime_status: 'STATUS$READY',
  execution_status: 'finished' as const,
  last_updated_at: '2026-11-24T11:00:00Z',
  ...members,
})

test.each([
  ['starting', { status: 'STARTING', execution_status: 'idle' }],
  ['start_failed', { status: 'STOPPED', runtime_status: 'STATUS$ERROR', execution_status: 'error' }],
  ['stopped', { status: 'STOPPED', runtime_status: 'STATUS$STOPPED', execution_status: 'paused' }],
  ['waiting', { execution_status: 'waiting_for_confirmation' }],
  ['running', { execution_status: 'running' }],
  ['failed', { execution_status: 'stuck' }],
  ['failed', { execution_status: 'error' }],
  ['stopped', { execution_status: 'deleting' }],
  ['finished', {}],
])('a list shows %s for %o', (shown, members) => {
  expect(shownStatus(item(members), NONE_WAITING)).toBe(shown)
})

test('home divides conversations by what they need, and a failure asks for attention for one day', () => {
  const waiting = item({ execution_status: 'waiting_for_confirmation', last_updated_at: '2026-10-01T00:00:00Z' })
  const failed = item({ execution_status: 'error' })
  const oldFailure = item({ execution_status: 'error', last_updated_at: '2026-11-23T11:59:59Z' })
  const starting = item({ status: 'STARTING' })
  const finished = item()
  expect(sectionsOf([finished, waiting, oldFailure, starting, failed], NONE_WAITING, NOW)).toEqual({
    attention: [waiting, failed],
    running: [starting],
    recent: [finished, oldFailure],
  })
})

test('a conversation whose sub-agent waits needs attention, whatever its own status is', () => {
  const parent = item({ execution_status: 'running' })
  expect(sectionsOf([parent], new Set([parent.conversation_id]), NOW).attention).toEqual([parent])
})

test('rows that are held keep their place and show what is new about them', () => {
  const [first, second, third] = [item({ execution_status: 'running' }), item(), item()]
  const before = sectionsOf([first, second, third], NONE_WAITING, NOW)
  const renewed = { ...first, execution_status: 'finished' as const }
  expect(inOrderOf(before, [item(), third, renewed])).toEqual({ attention: [], running: [renewed], recent: [third] })
})

test('the filter finds every word of it in title and repository, whatever their case', () => {
  const items = [
    { title: 'Fix the Login page', selected_repository: 'acme/shop' },
    { title: 'Fix the build', selected_repository: null },
  ]
  expect(filtered(items, 'login FIX')).toEqual([items[0]])
  expect(filtered(items, 'fix shop')).toEqual([items[0]])
  expect(filtered(items, '  ')).toEqual(items)
  expect(filtered(items, 'fix nothing')).toEqual([])
})
