/** Waits for a sub-agent until it ends: keeps its guard, passes questions up and answers down, pauses and goes on with it. */
import { ParleyError, type ConversationId, type EventId } from '@parley/protocol'
import { abortable, sleep } from '../../lib/index.ts'
import type { EventStore } from '../../storage/index.ts'
import type { SubAgentEnd } from '../../tools/index.ts'
import type { Actor } from '../conversations.ts'
import { conversationError, statusChanged } from '../drafts.ts'
import { RunCancelled } from '../run/interruption.ts'
import type { LiveConversation } from '../live/live-conversation.ts'
import type { SubAgentOrigin } from '../record/record.ts'
import type { Roster } from '../live/roster.ts'
import { attention, isActive, type Attention } from './attention.ts'
import { Changes } from './changes.ts'
import type { Purse } from './kin.ts'
import { answerTo, asking, questionId, questionOf, withdrawing } from './question.ts'
import { resultOf } from './result.ts'

/** Milliseconds before a move is tried again that met a conversation which was just being let go of. */
const AGAIN_MS = 100

export type Attended = {
  parentId: ConversationId
  childId: ConversationId
  origin: SubAgentOrigin
  /** The call that waits. */
  callId: string
  /** The message that sets it to work; null: the child began with it. */
  work: { id: EventId; text: string } | null
}

export type AttendDeps = {
  roster: Pick<Roster, 'load' | 'channel' | 'release'>
  events: EventStore
  /** On whose behalf the child is steered. */
  actor: Actor
  purseOf: (child: LiveConversation) => Promise<Purse | null>
  /** Brings the parent's books up to date with what the child has spent. */
  settle: (child: LiveConversation) => Promise<unknown>
}

/** Resolves when the child has ended, for better or worse. Rejects with the signal's reason; the child is left as it is then. */
export async function attend(deps: AttendDeps, attended: Attended, signal: AbortSignal): Promise<SubAgentEnd> {
  const { parentId, childId } = attended
  const seqs = [parentId, childId].map(async (id) => ({ id, seq: (await deps.roster.load(id)).state().seq }))
  using changes = new Changes(deps.roster, await Promise.all(seqs))
  try {
    return await untilItEnds(deps, attended, changes, signal)
  } finally {
    // However it ended, nobody is asked any more; who was interrupted has said so already.
    if (!signal.aborted) await (await deps.roster.load(parentId)).commit((state) => withdrawing(state, childId))
  }
}

async function untilItEnds(
  deps: AttendDeps,
  attended: Attended,
  changes: Changes,
  signal: AbortSignal,
): Promise<SubAgentEnd> {
  const { parentId, childId } = attended
  let hasWorked = false
  for (let isBegun = false; ;) {
    signal.throwIfAborted()
    const changed = changes.next()
    try {
      const parent = await deps.roster.load(parentId)
      const child = await deps.roster.load(childId)
      if (!isBegun) await begin(deps, attended, parent, child, signal)
      isBegun = true
      await takeSecrets(parent, child)
      const purse = await deps.purseOf(child)
      const question = (batch: string) => questionId(childId, batch)
      const isOverdrawn = purse?.() != null
      // One that is interrupted changes nothing more: its sub-agents are called off when this has ended.
      signal.throwIfAborted()
      hasWorked = isActive(parent.state()) && (hasWorked || child.state().execution_status === 'running')
      const todo = attention({ parent: parent.state(), child: child.state(), question, hasWorked, isOverdrawn })
      if (todo.kind === 'ended') {
        await deps.settle(child)
        return await resultOf(deps.events, child, attended.origin, attended.work?.id ?? null)
      }
      if (todo.kind === 'run') hasWorked = true
      if (todo.kind === 'exhaust') hasWorked = false
      if (!(await move(deps, attended, todo, parent, child, purse))) await abortable(changed, signal)
    } catch (error) {
      signal.throwIfAborted()
      const end = await overcome(error, attended, signal)
      if (end !== null) return end
    }
  }
}

/** Sets the child to work, once, and takes up what it did while nobody attended to it. */
async function begin(
  { actor, events, settle }: AttendDeps,
  { work, childId }: Attended,
  parent: LiveConversation,
  child: LiveConversation,
  signal: AbortSignal,
): Promise<void> {
  await takeSecrets(parent, child)
  signal.throwIfAborted()
  if (work !== null && (await events.get(childId, work.id)) === null) {
    // A message that comes before the start has ended would be kept without its id.
    const isReady = await abortable(child.start(), signal).then(
      () => true,
      () => false,
    )
    signal.throwIfAborted()
    // Why it could not start stands in its state.
    if (!isReady) return
    const content = [{ type: 'text' as const, text: work.text, cache_prompt: false }]
    await child.send({ kind: 'send_message', content, run: true, message_id: work.id }, actor)
  }
  await settle(child)
}

/** Makes one move; false when there is nothing to do but wait. */
async function move(
  { actor, events }: AttendDeps,
  { parentId, childId, origin, callId }: Attended,
  todo: Exclude<Attention, { kind: 'ended' }>,
  parent: LiveConversation,
  child: LiveConversation,
  purse: Purse | null,
): Promise<boolean> {
  switch (todo.kind) {
    case 'wait':
      return false
    case 'guard':
      await child.send({ kind: 'set_confirmation_policy', policy: todo.policy }, actor)
      await child.send({ kind: 'set_security_analyzer', analyzer: todo.analyzer }, actor)
      return true
    case 'pause':
    case 'run':
      await child.send({ kind: todo.kind }, actor)
      return true
    case 'withdraw':
      return parent.commit((state) => withdrawing(state, childId))
    case 'exhaust': {
      const reason = purse?.()
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
        const { decision, reason } = answer
        const by = { ...actor, keyId: answer.actor }
        const response = { accept: decision === 'accept', reason: reason ?? 'User rejected the action.' }
        await child.send({ kind: 'respond', ...response, llm_response_id: todo.batch }, by)
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

/** The child's commands get what the parent's get, also what came later. */
async function takeSecrets(parent: LiveConversation, child: LiveConversation): Promise<void> {
  const { secrets, retired } = parent.record
  const isSame = JSON.stringify([child.record.secrets, child.record.retired]) === JSON.stringify([secrets, retired])
  if (isSame) return
  const change = { ...(secrets === undefined ? {} : { secrets }), ...(retired === undefined ? {} : { retired }) }
  await child.update(change, [])
}

/** What a failed move means: the end of the work, or another look. @throws whatever is nobody's doing. */
async function overcome(
  error: unknown,
  { childId, origin }: Attended,
  signal: AbortSignal,
): Promise<SubAgentEnd | null> {
  if (error instanceof ParleyError && error.code === 'not_found' && error.details['conversation_id'] === childId) {
    const status = 'deleting' as const
    return {
      conversation_id: childId,
      ...named(origin),
      status,
      reason: 'It was deleted before it had finished.',
      text: '',
    }
  }
  // It was let go of, or somebody else was faster: looking again shows what there is to do.
  const isRace = error instanceof RunCancelled || (error instanceof ParleyError && RACES.has(error.code))
  if (!isRace) throw error
  await sleep(AGAIN_MS, signal)
  return null
}

const RACES: ReadonlySet<string> = new Set(['conflict', 'nothing_pending', 'unavailable'])

const named = ({ name, type }: SubAgentOrigin) => ({ name, type })
