/** Performs recorded actions, a few at a time, and answers each exactly once in call order. Source: agent-core.md 1.11. */
import type { ActionEvent, Draft } from '@parley/protocol'
import type { Step, Turn } from '../agent.ts'
import type { Gateway } from '../gateway.ts'
import { answer, hookRejection } from './drafts.ts'

/** Answers open actions, at most `limit` at the same time. */
export function execute(
  actions: readonly ActionEvent[],
  gateway: Gateway,
  limit: number,
  turn: Turn,
  signal: AbortSignal,
): Step {
  const perform = async (event: ActionEvent, own: AbortSignal): Promise<Draft[]> =>
    answer(event, await gateway.perform(event, turn.state(), own))
  return answerInOrder(actions, (event, own) => rejected(event, actions, turn) ?? perform(event, own), limit, signal)
}

/**
 * Runs `work` over the actions with at most `limit` at once and yields their drafts in the order of the actions, each as
 * soon as all earlier ones are stored (F42). What still runs when the step is abandoned is aborted.
 */
export async function* answerInOrder(
  actions: readonly ActionEvent[],
  work: (event: ActionEvent, signal: AbortSignal) => Draft[] | Promise<Draft[]>,
  limit: number,
  signal: AbortSignal,
): Step {
  const abandoned = new AbortController()
  const own = AbortSignal.any([signal, abandoned.signal])
  const results = actions.map(() => Promise.withResolvers<Draft[]>())
  // Whoever waits for a result hears of its failure; one that nobody waits for any more is nobody's.
  for (const { promise } of results) promise.catch(() => undefined)
  const settled = new Map<number, Draft[]>()
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < actions.length; index = next++) {
      try {
        own.throwIfAborted()
        const drafts = await work(actions[index]!, own)
        settled.set(index, drafts)
        results[index]!.resolve(drafts)
      } catch (error) {
        results[index]!.reject(error)
      }
    }
  }
  const workers = Array.from({ length: Math.min(limit, actions.length) }, worker)
  try {
    for (let index = 0; index < actions.length;) {
      const drafts = [...(await results[index]!.promise)]
      // Whatever is ready behind it shares the commit.
      for (index++; settled.has(index); index++) drafts.push(...settled.get(index)!)
      yield drafts
    }
    await Promise.all(workers)
  } finally {
    abandoned.abort(new Error('the step was abandoned'))
  }
}

/** The answer to an action that a hook has blocked; null for any other. The blocks of the whole batch are forgotten with it. */
export function rejected(event: ActionEvent, batch: readonly ActionEvent[], turn: Turn): Draft[] | null {
  const { blocked_actions } = turn.state()
  const reason = blocked_actions[event.id]
  if (reason === undefined) return null
  const value = Object.fromEntries(
    Object.entries(blocked_actions).filter(([id]) => !batch.some((action) => action.id === id)),
  )
  return [
    hookRejection(event, reason),
    { kind: 'StateChangedEvent', source: 'environment', key: 'blocked_actions', value },
  ]
}
