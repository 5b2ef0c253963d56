/** Explores the model of nodes, store and executor in every order of its steps, and shows that each guard is needed. */
import { expect, test } from 'vitest'
import { byForm } from '../../packages/server/testing/campaign.ts'
import { explore } from './explore.ts'
import { GUARDS } from './model.ts'

const bounds = byForm({
  test: { calls: 1, epochs: 3 },
  campaign: { calls: 1, epochs: 4 },
  soak: { calls: 2, epochs: 4 },
})

test('in every order of claims, appends, calls, lost answers, freezes, kills, drains and restarts of the store, epochs never decrease, a call begins once and after it is stored, no replaced owner acts, and the turn can always end', () => {
  const { states, steps, fault, stuck } = explore(bounds)
  console.log(`model of ${bounds.calls} calls and ${bounds.epochs} owners: ${states} states, ${steps} steps`)
  expect({ fault, stuck }).toEqual({ fault: null, stuck: null })
}, 600_000)

/** What the exploration finds when a guard is missing. */
const NEEDED: Record<(typeof GUARDS)[number], RegExp> = {
  'the store compares the epoch': /^an event of epoch 1 is stored although epoch 2 has an owner$/,
  'the store compares the end of the log': /^call 0 is stored twice$/,
  'the executor refuses older epochs': /^call 0 of epoch 1 has begun after epoch 2 had acted$/,
  'the executor begins a call once': /^call 0 has begun twice$/,
  'a call is stored before it begins': /^call 0 has begun, and is not stored$/,
  'only conversations of nodes without a lock are claimed': /^node 0 may begin call 0, which belongs to node 1$/,
  'N4: no call begins without a confirmed lease': /^node 0 may begin call 0, which belongs to node 1$/,
  'N5: a node asks what it still owns when its session is back': /^node 0 may begin call 0, which belongs to node 1$/,
  'N6: nothing is claimed from others within one lease after a session began':
    /^node 0 may begin call 0, which belongs to node 1$/,
}

test.each(GUARDS)('without the guard "%s" the model finds a fault', (guard) => {
  expect(explore({ calls: 1, epochs: 3 }, guard).fault?.what).toMatch(NEEDED[guard])
})
