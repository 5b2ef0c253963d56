import { expect, test } from 'vitest'
import { filtered, sectionsOf, shownStatus } from './conversations.ts'

const NOW = Date.parse('2026-11-24T12:00:00Z')
const item = (members: object = {}) => ({
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
  expect(shownStatus(item(members))).toBe(shown)
})

test('home divides conversations by what they need, and a failure asks for attention for one day', () => {
  const waiting = item({ execution_status: 'waiting_for_confirmation', last_updated_at: '2026-10-01T00:00:00Z' })
  const failed = item({ execution_status: 'error' })
  const oldFailure = item({ execution_status: 'error', last_updated_at: '2026-11-23T11:59:59Z' })
  const starting = item({ status: 'STARTING' })
  const finished = item()
  expect(sectionsOf([finished, waiting, oldFailure, starting, failed], NOW)).toEqual({
    attention: [waiting, failed],
    running: [starting],
    recent: [finished, oldFailure],
  })
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
