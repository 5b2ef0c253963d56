import { expect, test } from 'vitest'
import { RowChanges } from './row-changes.ts'

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms)
const iso = (ms: number) => at(ms).toISOString()

/** The columns of appends that the store accepts, each with a status and a time. */
function played(...appends: ['running' | 'paused', number][]) {
  const row = new RowChanges()
  return appends.map(([status, ms]) => {
    const change = row.of({ status, wantsOwner: status === 'running', updatedAt: at(ms) })
    row.accepted(change)
    return change
  })
}

test('the first append stores both columns, and an unchanged status is not stored again', () => {
  expect(played(['paused', 0], ['paused', 5])).toEqual([
    { status: 'paused', updated_at: iso(0) },
    { updated_at: iso(5) },
  ])
})

test('the time of a running conversation is stored once a second, and at once when the status changes', () => {
  expect(played(['running', 0], ['running', 999], ['running', 1_000], ['running', 1_500], ['paused', 1_501])).toEqual([
    { status: 'running', updated_at: iso(0) },
    {},
    { updated_at: iso(1_000) },
    {},
    { status: 'paused', updated_at: iso(1_501) },
  ])
})

test('a clock that was set back is stored', () => {
  expect(played(['running', 10_000], ['running', 1])[1]).toEqual({ updated_at: iso(1) })
})

test('the columns of an append that the store refused are stored with the next one', () => {
  const row = new RowChanges()
  row.accepted(row.of({ status: 'running', wantsOwner: true, updatedAt: at(0) }))
  expect(row.of({ status: 'paused', wantsOwner: false, updatedAt: at(1) })).toEqual({
    status: 'paused',
    updated_at: iso(1),
  })
  expect(row.of({ status: 'paused', wantsOwner: false, updatedAt: at(2) })).toEqual({
    status: 'paused',
    updated_at: iso(2),
  })
})

test('whether a conversation should run is stored when it does not follow from the status', () => {
  const row = new RowChanges()
  const stored = (status: 'running' | 'idle', wantsOwner: boolean) => {
    const change = row.of({ status, wantsOwner, updatedAt: at(0) })
    row.accepted(change)
    return { status: change.status, wants_owner: change.wants_owner }
  }
  // A start without a message and its end, and then a run and its end.
  expect(stored('idle', true)).toEqual({ status: 'idle', wants_owner: true })
  expect(stored('idle', true)).toEqual({})
  expect(stored('idle', false)).toEqual({ wants_owner: false })
  expect(stored('running', true)).toEqual({ status: 'running' })
  expect(stored('idle', false)).toEqual({ status: 'idle' })
})
