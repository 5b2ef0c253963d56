/**
 * Resolves actions that a dead process left open: attaches to them, executes them for the first time, or closes them as unknown.
 * A call that may have taken effect is not executed a second time.
 */
import type { ActionEvent, Draft } from '@parley/protocol'
import type { LedgerEntry, Workspace } from '../../workspace/index.ts'
import type { Step, StepContext } from '../agent.ts'
import type { ToolGateway } from '../gateway/tool-gateway.ts'
import { callResult, unknownEffect } from '../drafts.ts'
import { blockedResult, resultsInOrder } from './execute.ts'
import { FirstExecution } from './first-execution.ts'

/** Resolves inherited actions, at most `limit` at the same time. */
export async function* recover(
  actions: readonly ActionEvent[],
  deps: { gateway: ToolGateway; workspace: Workspace; limit: number },
  context: StepContext,
  signal: AbortSignal,
): Step {
  const { gateway, workspace, limit } = deps
  const ledger = await workspace.ledger(
    actions.map(({ id }) => id),
    signal,
  )
  const first = new FirstExecution(gateway, context)
  const work = async (event: ActionEvent, own: AbortSignal): Promise<Draft[]> => {
    const entry: LedgerEntry = ledger[event.id] ?? { state: 'absent' }
    const recovery = await gateway.recover(event, entry, context.state(), own)
    switch (recovery.kind) {
      case 'execute':
        // What the ledger does not know has not begun; anything else is attached to, and begins nothing.
        if (entry.state === 'absent') return first.run(event, own)
        return callResult(event, await gateway.perform(event, context.state(), own))
      case 'unknown':
        return [unknownEffect(event)]
      default:
        return callResult(event, recovery)
    }
  }
  yield* resultsInOrder(
    actions,
    (event, own) => blockedResult(event, actions, context) ?? work(event, own),
    limit,
    signal,
  )
  const question = first.question()
  if (question.length > 0) yield question
}
