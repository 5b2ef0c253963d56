/**
 * Approvals and rejections of a pending batch. Pure. Source: agent-core.md 1.10; agent-server-wire.md 6.2; F01, F02.
 *
 * Invariants
 *   P1. A decision counts for one batch, which waits at that moment; an answer to another one is refused.
 *   P2. Without the id of the batch, only a batch that a client of the same user has received is approved.
 *   P3. No answer is reported as a success when the opposite decision counts.
 */
import {
  ParleyError,
  type AwaitedApproval,
  type ConversationState,
  type DecidedApproval,
  type Draft,
  type EventId,
  type OpenAction,
} from '@parley/protocol'
import type { Command, ResponseToBatch } from './conversations.ts'
import { rejectAction, statusChanged } from './drafts.ts'
import { withoutBlocks } from './submission.ts'

/** The parts of an approval that the state does not contain. */
export type Approvals = {
  /** Id of the key that sent the command. */
  actor: string
  /** True when a client of the user has received the pending batch. */
  isShown: boolean
  /** The actions of the pending batch that a person sees, each with the digest of its arguments. */
  actions: readonly { action_id: EventId; digest: string }[]
}

type Decision = { drafts: Draft[]; runs: boolean; snapshot: boolean }

const nothing: Decision = { drafts: [], runs: false, snapshot: false }

/** Returns the approval that a run gives; null when it gives none. @throws ParleyError `conflict` for another or an unseen batch */
export function approvedByRun(
  state: ConversationState,
  { batch_id: named }: Extract<Command, { kind: 'run' }>,
  approvals: Approvals,
): Decision | null {
  const { awaiting_approval: awaited, execution_status: status } = state
  if (typeof named === 'string') {
    if (awaited === null) return decided(state, { kind: 'respond', accept: true, reason: '', batch_id: named })
    expectSame(awaited, { batch_id: named })
    return approve(state, awaited, approvals)
  }
  // A batch that was proposed during a pause is asked for again before a run approves it.
  if (status !== 'waiting_for_confirmation' || awaited === null) return null
  if (named === null) throw undecided(awaited)
  expectSeen(awaited, approvals)
  return approve(state, awaited, approvals)
}

/** Decides about the answer to a batch. @throws ParleyError `conflict` for another or an unseen batch, `nothing_pending` */
export function respond(state: ConversationState, response: ResponseToBatch, approvals: Approvals): Decision {
  const { awaiting_approval: awaited } = state
  if (awaited === null) return decided(state, response)
  expectSame(awaited, response)
  if (response.accept) {
    if (response.batch_id === undefined) expectSeen(awaited, approvals)
    return approve(state, awaited, approvals)
  }
  const rejection = approval(state, awaited, 'reject', approvals, response.reason)
  // The answer concerns the sub-agent's own actions; the call that waits for the sub-agent continues.
  if (awaited.sub_agent !== undefined)
    return { drafts: [rejection, statusChanged('running')], runs: true, snapshot: true }
  const answered = state.open_actions.map(({ id }) => id)
  // A goal that waited for this answer continues with it.
  const continues = state.goal?.active === true
  return {
    drafts: [
      rejection,
      // The rest of the batch, such as calls that a hook has blocked, gets its answer here too (P24).
      ...state.open_actions.map((action) => refuse(action, state.blocked_actions[action.id], response.reason)),
      ...withoutBlocks(state, answered),
      statusChanged(continues ? 'running' : 'idle'),
    ],
    runs: continues,
    snapshot: true,
  }
}

/** An answer while no batch waits: the repetition of a decision succeeds without effect, its opposite is refused (P3). */
function decided({ decided_approval, execution_status: status }: ConversationState, response: ResponseToBatch) {
  const { accept, batch_id, llm_response_id } = response
  const isNamed = batch_id !== undefined || llm_response_id !== undefined
  if (isNamed && !isOf(decided_approval, response)) throw stale(batch_id ?? llm_response_id!, null)
  if (decided_approval !== null && (isNamed || !accept) && (decided_approval.decision === 'accept') !== accept)
    throw new ParleyError(
      'conflict',
      `The batch was decided already: ${decided_approval.decision}. This answer has no effect.`,
    )
  if (isNamed || !accept) return nothing
  // Existing clients answer while the approved run is already active (agent-server-wire.md 1.6).
  if (status === 'running' && decided_approval?.decision !== 'reject') return nothing
  throw new ParleyError(
    'nothing_pending',
    'No action of this conversation waits for a confirmation. Use run to continue.',
  )
}

type Named = Pick<ResponseToBatch, 'batch_id' | 'llm_response_id' | 'action_ids'>

function isOf(batch: DecidedApproval | null, named: Named): boolean {
  if (batch === null) return false
  const { batch_id = batch.batch_id, llm_response_id = batch.llm_response_id } = named
  return batch_id === batch.batch_id && llm_response_id === batch.llm_response_id
}

function expectSame(awaited: AwaitedApproval, { batch_id, llm_response_id, action_ids }: Named): void {
  const waiting = awaited.batch_id
  if (batch_id !== undefined && batch_id !== waiting) throw stale(batch_id, awaited)
  if (llm_response_id !== undefined && llm_response_id !== awaited.llm_response_id)
    throw stale(llm_response_id, awaited)
  const shown = new Set<string>(shownActions(awaited))
  if (action_ids !== undefined && !(action_ids.length === shown.size && action_ids.every((id) => shown.has(id))))
    throw stale(waiting, awaited)
}

function expectSeen(awaited: AwaitedApproval, { isShown }: Approvals): void {
  if (!isShown) throw unseen(awaited)
}

/** Ids of the actions that a person decides about: those of the sub-agent when a sub-agent asks. */
const shownActions = ({ actions, sub_agent }: AwaitedApproval): EventId[] =>
  (sub_agent?.actions ?? actions).map(({ action_id }) => action_id)

function stale(named: string, awaited: AwaitedApproval | null): ParleyError {
  const state =
    awaited === null
      ? 'No batch waits for a confirmation.'
      : `The batch that waits is ${awaited.batch_id} (answer ${awaited.llm_response_id}). Look at it and answer again.`
  return new ParleyError('conflict', `${named} does not wait for a confirmation. ${state}`)
}

const undecided = (awaited: AwaitedApproval): ParleyError =>
  new ParleyError(
    'conflict',
    `The batch ${awaited.batch_id} waits for a confirmation, and this run approves none. Answer it, then run.`,
  )

const unseen = (awaited: AwaitedApproval): ParleyError =>
  new ParleyError(
    'conflict',
    `The batch ${awaited.batch_id} waits for a confirmation, and no client of this user has received it. ` +
      'Read the conversation or its events, then answer, or name it with batch_id.',
  )

function approve(state: ConversationState, awaited: AwaitedApproval, approvals: Approvals): Decision {
  const drafts = [approval(state, awaited, 'accept', approvals, null), statusChanged('running')]
  return { drafts, runs: true, snapshot: false }
}

function approval(
  { open_actions }: ConversationState,
  awaited: AwaitedApproval,
  decision: 'accept' | 'reject',
  { actor, actions }: Approvals,
  reason: string | null,
): Draft {
  const waiting = new Set<string>(awaited.actions.map(({ action_id }) => action_id))
  return {
    kind: 'ApprovalEvent',
    source: 'user',
    batch_id: awaited.batch_id,
    llm_response_id: awaited.llm_response_id,
    action_ids: open_actions.filter(({ id }) => waiting.has(id)).map(({ id }) => id),
    actions: [...actions],
    decision,
    actor,
    reason,
  }
}

function refuse(action: OpenAction, blockedBecause: string | undefined, reason: string): Draft {
  if (blockedBecause === undefined) return rejectAction(action, reason)
  return { ...rejectAction(action, blockedBecause), rejection_source: 'hook' } as Draft
}
