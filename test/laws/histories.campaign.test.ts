import { ActiveBranch, apply, EMPTY_STATE, pendingActions, replay } from '@parley/protocol'
import { expect, test } from 'vitest'
import { byForm, forSeeds, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { closeAction } from '../../packages/server/src/conversation/drafts.ts'
import { random, RandomHistory } from '../../packages/server/testing/random-history.ts'

/** Seconds for each law. */
const BUDGET = { seconds: byForm({ test: 1, campaign: 10, soak: 300 }), least: 500 }
const TIMEOUT_MS = timeoutFor(BUDGET.seconds)

/** Checks a law for random histories. A history follows from its seed alone. */
async function forEachHistory(check: (history: RandomHistory, next: () => number) => void): Promise<void> {
  await forSeeds(BUDGET, (seed) => {
    const next = random(seed * 7919)
    check(new RandomHistory(seed).grow(5 + Math.floor(next() * 25)), next)
  })
}

test(
  'a cached state plus the later events of a random history equals the state of all events',
  async () => {
    await forEachHistory(({ events, state }, next) => {
      const cut = Math.floor(next() * (events.length + 1))
      const cached = JSON.parse(JSON.stringify(replay(events.slice(0, cut)))) as typeof EMPTY_STATE
      expect(replay(events.slice(cut), cached)).toEqual(state)
    })
  },
  TIMEOUT_MS,
)

test(
  'the branch of a random history kept event by event equals the branch built anew',
  async () => {
    await forEachHistory((history) => {
      const kept = new ActiveBranch()
      let state = EMPTY_STATE
      for (const stored of history.events) {
        kept.append(stored)
        state = apply(state, stored)
      }
      expect(kept.path().map(({ seq }) => seq)).toEqual(history.path(state.leaf_event_id).map(({ seq }) => seq))
    })
  },
  TIMEOUT_MS,
)

test(
  'the state of a random history has the same open actions as its branch',
  async () => {
    await forEachHistory((history) => {
      expect(history.state.open_actions.map(({ id }) => id)).toEqual(pendingActions(history.path()).map(({ id }) => id))
    })
  },
  TIMEOUT_MS,
)

test(
  'closing the open actions of a random history leaves none open, in the state and on the branch',
  async () => {
    await forEachHistory((history) => {
      history.commit(history.state.open_actions.map((action) => closeAction(action, 'interrupted')))
      expect(history.state.open_actions).toEqual([])
      expect(pendingActions(history.path())).toEqual([])
    })
  },
  TIMEOUT_MS,
)
