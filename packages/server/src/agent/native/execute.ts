/**
 * Executes stored actions, a few at a time, and drafts exactly one result for each, in call order. Source: agent-core.md 1.11.
 */
import type { ActionEvent, Draft } from '@parley/protocol'
import type { Step, StepContext } from '../agent.ts'
import type { ToolGateway } from '../gateway/tool-gateway.ts'
import { hookRejection } from '../drafts.ts'
import { FirstExecution } from './first-execution.ts'

/** Executes open actions, at most `limit` at the same time, and asks about those that may not begin any more. */
export async function* execute(
  actions: readonly ActionEvent[],
  gateway: ToolGateway,
  limit: number,
  context: StepContext,
  signal: AbortSignal,
): Step {
  const first = new FirstExecution(gateway, context)
  yield* resultsInOrder(
    actions,
    (event, own) => blockedResult(event, actions, context) ?? first.run(event, own),
    limit,
    signal,
  )
  const question = first.question()
  if (question.length > 0) yield question
}

/**
 * Runs `work` over the actions, at most `limit` at once, and yields their drafts in the order of the actions, each as soon as
 * all earlier ones are stored (F42). When the step is abandoned, the work that still runs is aborted.
 */
export async function* resultsInOrder(
  actions: readonly ActionEvent[],
  work: (event: ActionEvent, signal: AbortSignal) => Draft[] | Promise<Draft[]>,
  limit: number,
  signal: AbortSignal,
): Step {
  const abandoned = new AbortController()
  const own = AbortSignal.any([signal, abandoned.signal])
  const results = actions.map(() => Promise.withResolvers<Draft[]>())
  // The step throws the failure that it waits for. Failures of other results must not count as unhandled rejections.
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
      // The results after it that are ready share the commit.
      for (index++; settled.has(index); index++) drafts.push(...settled.get(index)!)
      yield drafts
    }
    await Promise.all(workers)
  } finally {
    abandoned.abort(new Error('the step was abandoned'))
  }
}

/**
 * The result of an action that a hook blocked, with the removal of the batch from `blocked_actions`; null for other actions.
 */
export function blockedResult(event: ActionEvent, batch: readonly ActionEvent[], context: StepContext): Draft[] | null {
  const { blocked_actions } = context.state()
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
