/** Waits for a sub-agent until it ends: aligns its permissions, relays questions and answers, pauses and resumes it. */
import { ParleyError, type ConversationId, type EventId } from '@parley/protocol'
import { abortable, backoffMs, sleep, type Backoff } from '../../lib/index.ts'
import type { EventStore } from '../../storage/index.ts'
import type { SubAgentEnd } from '../../tools/index.ts'
import type { Actor } from '../conversations.ts'
import { conversationError, statusChanged } from '../drafts.ts'
import { RunCancelled } from '../interruption.ts'
import type { LiveConversation } from '../live/live-conversation.ts'
import type { SubAgentOrigin } from '../record/record.ts'
import type { Roster } from '../live/roster.ts'
import { nextAction, isActive, type NextAction } from './next-action.ts'
import { Changes } from './changes.ts'
import type { RemainingBudget } from '../run/parent-link.ts'
import { answerTo, asking, questionId, questionOf, withdrawing } from './question.ts'
import { resultOf } from './result.ts'

/** Waits before an action is repeated that failed because a conversation was leaving memory, or because the store refused it. */
const RETRY: Backoff = { baseMs: 100, maxMs: 60_000 }

export type AwaitedSubAgent = {
  parentId: ConversationId
  childId: ConversationId
  origin: SubAgentOrigin
  /** Id of the waiting call. */
  callId: string
  /** The message that assigns the work; null when the child's first message does. */
  work: { id: EventId; text: string } | null
}

export type AwaitSubAgentDeps = {
  roster: Pick<Roster, 'load' | 'channel' | 'release'>
  events: EventStore
  /** The actor of the commands to the child. */
  actor: Actor
  remainingBudgetOf: (child: LiveConversation) => Promise<RemainingBudget | null>
  /** Records in the parent what the child has spent. */
  settle: (child: LiveConversation) => Promise<unknown>
}

/** Resolves when the child has ended, successfully or not. Rejects with the signal's reason; the child is then left unchanged. */
export async function awaitSubAgent(
  deps: AwaitSubAgentDeps,
  awaited: AwaitedSubAgent,
  signal: AbortSignal,
): Promise<SubAgentEnd> {
  const { parentId, childId } = awaited
  const seqs = [parentId, childId].map(async (id) => ({ id, seq: (await deps.roster.load(id)).state().seq }))
  using changes = new Changes(deps.roster, await Promise.all(seqs))
  try {
    return await untilEnded(deps, awaited, changes, signal)
  } finally {
    // The question of the child is void now. An interrupt of the parent has withdrawn it already.
    if (!signal.aborted) await (await deps.roster.load(parentId)).commit((state) => withdrawing(state, childId), signal)
  }
}

async function untilEnded(
  deps: AwaitSubAgentDeps,
  awaited: AwaitedSubAgent,
  changes: Changes,
  signal: AbortSignal,
): Promise<SubAgentEnd> {
  const { parentId, childId } = awaited
  let hasWorked = false
  let failures = 0
  for (let isBegun = false; ;) {
    signal.throwIfAborted()
    const changed = changes.next()
    try {
      const parent = await deps.roster.load(parentId)
      const child = await deps.roster.load(childId)
      if (!isBegun) await begin(deps, awaited, parent, child, signal)
      isBegun = true
      await takeSecrets(parent, child)
      const remainingBudget = await deps.remainingBudgetOf(child)
      const question = (batch: string) => questionId(childId, batch)
      const isOverdrawn = remainingBudget?.() != null
      // An interrupted parent changes nothing more: its sub-agents are cancelled after this has ended.
      signal.throwIfAborted()
      hasWorked = isActive(parent.state()) && (hasWorked || child.state().execution_status === 'running')
      const todo = nextAction({ parent: parent.state(), child: child.state(), question, hasWorked, isOverdrawn })
      if (todo.kind === 'ended') {
        await deps.settle(child)
        return await resultOf(deps.events, child, awaited.origin, awaited.work?.id ?? null)
      }
      if (todo.kind === 'run') hasWorked = true
      if (todo.kind === 'exhaust') hasWorked = false
      if (!(await execute(deps, awaited, todo, parent, child, remainingBudget))) await abortable(changed, signal)
      failures = 0
    } catch (error) {
      signal.throwIfAborted()
      const end = endAfter(error, awaited)
      if (end !== null) return end
      await sleep(
        backoffMs(RETRY, ++failures, () => 1),
        signal,
      )
    }
  }
}

/** Assigns the work to the child, once, and records the costs of work that no call awaited. */
async function begin(
  { actor, events, settle }: AwaitSubAgentDeps,
  { work, childId }: AwaitedSubAgent,
  parent: LiveConversation,
  child: LiveConversation,
  signal: AbortSignal,
): Promise<void> {
  await takeSecrets(parent, child)
  signal.throwIfAborted()
  if (work !== null && (await events.get(childId, work.id)) === null) {
    // A message that arrives before the end of the start would be kept without its id.
    const isReady = await abortable(child.start(), signal).then(
      () => true,
      () => false,
    )
    signal.throwIfAborted()
    // The state of the child contains the reason of the failure.
    if (!isReady) return
    const content = [{ type: 'text' as const, text: work.text, cache_prompt: false }]
    await child.send({ kind: 'send_message', content, run: true, message_id: work.id }, actor)
  }
  await settle(child)
}

/** Executes one action; false when only waiting is left. */
async function execute(
  { actor, events }: AwaitSubAgentDeps,
  { parentId, childId, origin, callId }: AwaitedSubAgent,
  todo: Exclude<NextAction, { kind: 'ended' }>,
  parent: LiveConversation,
  child: LiveConversation,
  remainingBudget: RemainingBudget | null,
): Promise<boolean> {
  switch (todo.kind) {
    case 'wait':
      return false
    case 'guard':
      await child.send({ kind: 'set_confirmation_policy', policy: todo.policy }, actor)
      await child.send({ kind: 'set_security_analyzer', analyzer: todo.analyzer }, actor)
      return true
    case 'pause':
      await child.send({ kind: 'pause' }, actor)
      return true
    case 'run':
      // A batch that waits by now is a person's to decide.
      await child.send({ kind: 'run', batch_id: null }, actor)
      return true
    case 'withdraw':
      return parent.commit((state) => withdrawing(state, childId))
    case 'exhaust': {
      const reason = remainingBudget?.()
      if (reason == null) return true
      return parent.commit(({ execution_status: status }) =>
        status === 'running' || status === 'waiting_for_confirmation'
          ? [conversationError(reason.code, reason.detail), statusChanged('paused', reason.code)]
          : [],
      )
    }
    case 'consult': {
      const answer = await answerTo(events, parentId, questionId(childId, todo.batch))
      if (answer !== null) {
        const { decision, reason, actions = [] } = answer
        const by = { ...actor, keyId: answer.actor }
        const response = { accept: decision === 'accept', reason: reason ?? 'User rejected the action.' }
        const action_ids = actions.map(({ action_id }) => action_id)
        await child.send({ kind: 'respond', ...response, batch_id: todo.batch, action_ids }, by)
        return true
      }
      const awaited = child.state().awaiting_approval
      if (awaited === null) return true
      const question = await questionOf(events, childId, origin, awaited)
      return parent.commit((state) => asking(state, callId, question))
    }
    default:
      return todo satisfies never
  }
}

/** Copies the parent's secrets to the child, so that its commands get the newest. */
async function takeSecrets(parent: LiveConversation, child: LiveConversation): Promise<void> {
  const { secrets, retired } = parent.record
  const isSame = JSON.stringify([child.record.secrets, child.record.retired]) === JSON.stringify([secrets, retired])
  if (isSame) return
  const change = { ...(secrets === undefined ? {} : { secrets }), ...(retired === undefined ? {} : { retired }) }
  await child.update(change, [])
}

/** The end of the work after a failed action; null when the action is to be repeated. @throws an error that is not a race */
function endAfter(error: unknown, { childId, origin }: AwaitedSubAgent): SubAgentEnd | null {
  if (error instanceof ParleyError && error.code === 'not_found' && error.details['conversation_id'] === childId) {
    const status = 'deleting' as const
    return {
      conversation_id: childId,
      ...nameAndType(origin),
      status,
      reason: 'It was deleted before it had finished.',
      text: '',
    }
  }
  // The conversation left memory, or another command was faster: the next iteration reads the new state.
  const isRace = error instanceof RunCancelled || (error instanceof ParleyError && RACES.has(error.code))
  if (!isRace) throw error
  return null
}

const RACES: ReadonlySet<string> = new Set(['conflict', 'nothing_pending', 'unavailable'])

const nameAndType = ({ name, type }: SubAgentOrigin) => ({ name, type })
