import {
  EMPTY_STATE,
  isTreeEvent,
  ParleyError,
  pendingActions,
  replay,
  type ConversationId,
  type ConversationState,
  type Draft,
  type EventId,
  type StoredEvent,
  type StoredTreeEvent,
} from '@parley/protocol'
import type { ConversationRow } from '../../storage/index.ts'
import { earlierOutcomes, outcomeText, type EarlierOutcome } from '../branch/earlier-outcomes.ts'
import { navigationTarget, readBranch } from '../branch/reader.ts'
import type { Actor, ForkRequest } from '../conversations.ts'
import { closeAction, statusChanged } from '../drafts.ts'
import { givenOn } from '../log/knowledge.ts'
import { notification } from '../record/notify.ts'
import type { ConversationRecord } from '../record/record.ts'
import type { Reading } from '../record/reading.ts'
import { writeCachedLog } from '../log/cached-log.ts'
import { stamp } from '../log/stamp.ts'
import { carriedCheckpoints, movedNote, movedRecord, type ForkedFiles } from './forked-files.ts'
import { placeOf, type StartDeps } from './start.ts'

/** State that a fork inherits. Without it, a fork would evade the restrictions of its source (F04). */
const INHERITED = [
  'confirmation_policy',
  'security_analyzer',
  'hook_config',
  'blocked_messages',
  'max_iterations',
  'activated_knowledge_skills',
  'activated_path_rules',
  'invoked_skills',
  'left_out',
  'agent_state',
] as const

const PAGE = 500

/**
 * Creates a new, idle conversation with the source's events: the whole log, or the branch that ends at `from_event_id`.
 * Copies keep ids, times and parents; open calls are closed (F05). Source: agent-core.md 2.4.
 * @param files its own copy of the source's files; null: it shares the directory of the source
 * @throws ParleyError `not_found` for an unknown event, `conflict` when the id is taken; nothing is created then.
 */
export async function fork(
  deps: StartDeps,
  source: Reading,
  request: ForkRequest & { id: ConversationId },
  actor: Actor,
  files: ForkedFiles | null,
): Promise<ConversationId> {
  const { id } = request
  const from = request.from_event_id ?? null
  const tree = await treeToCopy(deps, source, from)
  const copied = tree.map(({ event }, index) => ({ seq: index + 1, event }))
  const leaf = from ?? source.state.leaf_event_id
  const target = await navigationTarget(deps.storage.events, source.row.id, leaf, source.state.blocked_messages)
  if (target === null) throw new ParleyError('not_found', `Event not found: ${from}`, { details: { event_id: from } })

  const start = replay(copied)
  const open = pendingActions(await branchOf(deps, source, target.to))
  const inherited = stateAt(source.state, from === null ? null : copied)
  const outcomes = await earlierOutcomes(deps.storage.events, source.row.id, open)
  const settling = settle(start, inherited, { ...target, open_actions: open }, outcomes, request)
  if (files !== null && start.has_system_prompt) settling.push(...movedNote(files, { ...target, open_actions: open }))
  const settled = stamp(start, settling, deps.stamps)
  const events = [...copied, ...settled.events]

  const record: ConversationRecord = {
    ...(files === null ? source.record : movedRecord(source.record, files)),
    title: request.title ?? source.record.title,
    tags: { ...source.record.tags, ...request.tags, ...(request.title ? { title: request.title } : {}) },
    forked_from_conversation_id: source.row.id,
    forked_from_event_id: from,
    fingerprint: `fork ${id}`,
    pending_messages: [],
    ...(source.record.loaded ? { loaded: { ...source.record.loaded, is_restored: false } } : {}),
    // A fork continues with a model: the played part is in its branch.
    replay: null,
    // No call waits for a copy, and its spending belongs to no parent.
    sub_agent: null,
  }
  const at = deps.stamps.now().toISOString()
  const row: Omit<ConversationRow, 'seq' | 'epoch'> = {
    id,
    owner: actor.user,
    created_at: at,
    updated_at: at,
    node: deps.node,
    place: placeOf(record, deps),
    status: settled.state.execution_status,
    parent_conversation_id: record.parent_conversation_id,
    record: deps.writeRecord(record),
  }
  const sources = { row, record, state: settled.state }
  const outbox = deps.notifies() ? [notification('conversation.started', sources)] : []
  const made = await deps.storage.conversations.create({
    ...row,
    events,
    state: writeCachedLog({ state: settled.state, view: null }),
    outbox,
    ...(files === null ? {} : { checkpoints: carriedCheckpoints(files, tree, events.length) }),
  })
  if (made === 'exists')
    throw new ParleyError('conflict', `A conversation with id ${id} exists already. Choose another id.`)
  return id
}

/** Returns the tree events to copy, in the order of the source's log. */
async function treeToCopy(deps: StartDeps, source: Reading, from: EventId | null): Promise<StoredEvent[]> {
  const tree: StoredEvent[] = []
  if (from !== null) {
    tree.push(...(await readBranch(deps.storage.events, source.row.id, from)))
    if (tree.length === 0)
      throw new ParleyError('not_found', `Event not found: ${from}`, { details: { event_id: from } })
  } else {
    for (let next = 1; ;) {
      const page = await deps.storage.events.page(source.row.id, { from: next, limit: PAGE })
      tree.push(...page.filter(({ event }) => isTreeEvent(event)))
      if (page.length < PAGE) break
      next = page.at(-1)!.seq + 1
    }
  }
  return tree
}

async function branchOf(deps: StartDeps, source: Reading, leaf: EventId | null): Promise<StoredTreeEvent[]> {
  return readBranch(deps.storage.events, source.row.id, leaf)
}

type Target = NonNullable<Awaited<ReturnType<typeof navigationTarget>>>

/** The drafts that give the copied log its required state. */
function settle(
  start: ConversationState,
  source: ConversationState,
  target: Target,
  outcomes: ReadonlyMap<EventId, EarlierOutcome>,
  request: ForkRequest,
): Draft[] {
  const drafts: Draft[] = [{ kind: 'LeafMovedEvent', source: 'environment', ...target }]
  for (const key of INHERITED) {
    const value = source[key]
    if (JSON.stringify(value) !== JSON.stringify(EMPTY_STATE[key])) {
      drafts.push({ kind: 'StateChangedEvent', source: 'environment', key, value } as Draft)
    }
  }
  if (!request.reset_metrics) drafts.push(...spent(source))
  for (const action of target.open_actions) {
    const outcome = outcomes.get(action.id) ?? { kind: 'unknown' }
    drafts.push(closeAction(action, outcomeText(outcome, 'in the conversation that this one was forked from')))
  }
  drafts.push({
    kind: 'StartPhaseEvent',
    source: 'environment',
    phase: 'workspace',
    status: 'started',
    code: null,
    detail: null,
  })
  if (start.execution_status !== 'idle') drafts.push(statusChanged('idle'))
  return drafts
}

/** The source's state as far as it applies to a part of its log. */
function stateAt(state: ConversationState, copied: readonly StoredEvent[] | null): ConversationState {
  if (copied === null) return state
  return { ...state, activated_knowledge_skills: givenOn(copied, state.activated_knowledge_skills) }
}

/** The source's spending, as one record per usage id. */
function spent(source: ConversationState): Draft[] {
  return Object.entries(source.stats).map(([usage_id, total]) => ({
    kind: 'UsageRecordedEvent' as const,
    source: 'environment' as const,
    usage_id,
    model: total.model_name,
    response_id: '',
    cost: total.accumulated_cost,
    latency: 0,
    tokens: total.accumulated_token_usage!,
  })) as Draft[]
}
