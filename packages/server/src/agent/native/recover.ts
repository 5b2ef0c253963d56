/**
 * Actions that a dead process left open: adopted, performed for the first time, or closed as unknown.
 * Nothing that may have taken effect is performed a second time.
 */
import type { ActionEvent, Draft } from '@parley/protocol'
import type { LedgerEntry, Workspace } from '../../workspace/index.ts'
import type { Step, Turn } from '../agent.ts'
import type { Gateway } from '../gateway.ts'
import { MASK } from '../../secrets/index.ts'
import { answer, forgottenCall, unknownEffect } from './drafts.ts'
import { answerInOrder, rejected } from './execute.ts'

/** Answers inherited actions, at most `limit` at the same time. */
export async function* recover(
  actions: readonly ActionEvent[],
  deps: { gateway: Gateway; workspace: Workspace; limit: number },
  turn: Turn,
  signal: AbortSignal,
): Step {
  const { gateway, workspace, limit } = deps
  const ledger = await workspace.ledger(
    actions.map(({ id }) => id),
    signal,
  )
  const work = async (event: ActionEvent, own: AbortSignal): Promise<Draft[]> => {
    const entry: LedgerEntry = ledger[event.id] ?? { state: 'absent' }
    const found = await gateway.recover(event, entry, turn.state(), own)
    switch (found.kind) {
      case 'perform':
        if (entry.state === 'absent' && isHidden(event)) return [forgottenCall(event)]
        return answer(event, await gateway.perform(event, turn.state(), own))
      case 'unknown':
        return [unknownEffect(event)]
      default:
        return answer(event, found)
    }
  }
  yield* answerInOrder(actions, (event, own) => rejected(event, actions, turn) ?? work(event, own), limit, signal)
}

/** Whether masking took something out of what the agent said; performing the rest would do something else. */
function isHidden({ action }: ActionEvent): boolean {
  return JSON.stringify(action).includes(MASK)
}
