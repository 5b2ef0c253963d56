import { ActiveBranch, apply, EMPTY_STATE, pendingActions, replay } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { closeAction } from '../../packages/server/src/conversation/drafts.ts'
import { random, RandomHistory } from './random-history.ts'

const HISTORIES = 10_000

/** Every history is named by its seed; a failing one is reproduced by that number alone. */
function forEachHistory(check: (history: RandomHistory, next: () => number) => void): void {
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const next = random(seed * 7919)
    const history = new RandomHistory(seed).grow(5 + Math.floor(next() * 25))
    try {
      check(history, next)
    } catch (error) {
      throw new Error(`history ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }
}

describe(`${HISTORIES} random histories`, () => {
  test('a cached fold plus the rest equals the whole fold', () => {
    forEachHistory(({ events, state }, next) => {
      const cut = Math.floor(next() * (events.length + 1))
      const cached = JSON.parse(JSON.stringify(replay(events.slice(0, cut)))) as typeof EMPTY_STATE
      expect(replay(events.slice(cut), cached)).toEqual(state)
    })
  }, 120_000)

  test('the branch kept event by event equals the branch built anew', () => {
    forEachHistory((history) => {
      const kept = new ActiveBranch()
      let state = EMPTY_STATE
      for (const stored of history.events) {
        kept.append(stored)
        state = apply(state, stored)
      }
      expect(kept.path().map(({ seq }) => seq)).toEqual(history.path(state.leaf_event_id).map(({ seq }) => seq))
    })
  }, 120_000)

  test('the fold knows the same open actions as the branch', () => {
    forEachHistory((history) => {
      expect(history.state.open_actions.map(({ id }) => id)).toEqual(pendingActions(history.path()).map(({ id }) => id))
    })
  }, 120_000)

  test('closing what was left open leaves no action open, in the fold and on the branch', () => {
    forEachHistory((history) => {
      history.commit(history.state.open_actions.map((action) => closeAction(action, 'interrupted')))
      expect(history.state.open_actions).toEqual([])
      expect(pendingActions(history.path())).toEqual([])
    })
  }, 120_000)
})
