/**
 * The batches of a user that wait for a decision. They are found by an index of the store, so that idle conversations cost nothing and
 * every node of a fleet gives the same answer.
 */
import {
  textOf,
  type ActionEvent,
  type ConfirmationRequestedEvent,
  type ConversationId,
  type StoredEvent,
  type WaitingAction,
  type WaitingApproval,
  type WaitingApprovals,
} from '@parley/protocol'
import { TimeSlices } from '../../lib/index.ts'
import type { ConversationRow, Storage } from '../../storage/index.ts'
import type { Actor } from '../conversations.ts'
import type { Reading } from '../record/reading.ts'
import type { ShownBatches } from '../watch/shown-batches.ts'
import type { ConversationAccess } from './access.ts'

/** Conversations that one answer reads, those that have waited longest first. */
const MAX_WAITING = 200
/** Characters of actions after which an answer ends. */
const MAX_CHARS = 8 * 1024 * 1024

type Requested = StoredEvent & { event: ConfirmationRequestedEvent }

export class WaitingApprovalReads {
  readonly #access: ConversationAccess
  readonly #storage: Pick<Storage, 'conversations' | 'events'>
  readonly #shown: Pick<ShownBatches, 'addStatus'>

  constructor(
    access: ConversationAccess,
    storage: Pick<Storage, 'conversations' | 'events'>,
    shown: Pick<ShownBatches, 'addStatus'>,
  ) {
    this.#access = access
    this.#storage = storage
    this.#shown = shown
  }

  /** Each waiting batch of the user once, oldest first. That of a sub-agent is listed for the sub-agent and not for its parents. */
  async list(actor: Actor): Promise<WaitingApprovals> {
    const { items, next } = await this.#storage.conversations.search({
      owner: actor.user,
      status: 'waiting_for_confirmation',
      sort: 'UPDATED_AT',
      limit: MAX_WAITING,
    })
    const read = await this.#access.readRows(items, actor)
    const readings = read.filter((reading) => reading !== null && reading.unreadable === undefined) as Reading[]
    const waiting = readings.filter(({ state }) => isWaiting(state))
    const ids = new Set(waiting.map(({ row }) => row.id))
    const approvals: WaitingApproval[] = []
    const slices = new TimeSlices()
    let chars = 0
    for (const reading of waiting) {
      await slices.next()
      const asker = reading.state.awaiting_approval?.sub_agent?.conversation_id
      if (asker !== undefined && ids.has(asker)) continue
      const approval = await this.#approvalOf(reading, actor)
      if (approval === null) continue
      chars += approval.actions.reduce((sum, { arguments: text }) => sum + text.length, 0)
      if (approvals.length > 0 && chars > MAX_CHARS) break
      await this.#shown.addStatus(reading.row.id, reading.state)
      approvals.push(approval)
    }
    approvals.sort((a, b) => (a.asked_at < b.asked_at ? -1 : Number(a.asked_at > b.asked_at)))
    return { approvals, has_more: next !== null || chars > MAX_CHARS }
  }

  async #approvalOf({ row, record, state }: Reading, actor: Actor): Promise<WaitingApproval | null> {
    const awaited = state.awaiting_approval!
    const requested = (await this.#storage.events.get(row.id, awaited.batch_id as never)) as Requested | null
    if (requested === null) return null
    const { event, seq } = requested
    const asking = event.sub_agent
    const chain = await this.#chainOf(row, record.title, actor)
    if (asking !== undefined) chain.names.push(asking.name)
    const actions =
      asking?.actions.map((asked) => ({ ...asked, thought: '', arguments: JSON.stringify(asked.action ?? null) })) ??
      (await Promise.all(event.actions.map((asked) => this.#actionOf(row.id, asked))))
    return {
      conversation_id: row.id,
      title: chain.title,
      batch_id: awaited.batch_id,
      seq,
      asked_at: event.timestamp,
      policy: event.policy ?? state.confirmation_policy,
      root_conversation_id: chain.root,
      sub_agent_of: chain.names.length === 0 ? null : chain.names,
      actions,
    }
  }

  async #actionOf(id: ConversationId, asked: ConfirmationRequestedEvent['actions'][number]): Promise<WaitingAction> {
    const event = (await this.#storage.events.get(id, asked.action_id))?.event as ActionEvent | undefined
    return {
      ...asked,
      tool_name: event?.tool_name ?? '',
      summary: event?.summary ?? null,
      action: event?.action ?? null,
      arguments: event?.tool_call?.arguments ?? '',
      thought: event === undefined ? '' : textOf(event.thought ?? []),
    }
  }

  /** The top-level conversation above a row, its title, and the names of the sub-agents from there on. */
  async #chainOf(row: ConversationRow, title: string | null, actor: Actor) {
    const names: string[] = []
    let [at, root, shown]: [ConversationRow, ConversationId, string | null] = [row, row.id, title]
    let record = (await this.#access.readRows([row], actor))[0]?.record
    while (record?.sub_agent != null && at.parent_conversation_id !== null) {
      names.unshift(record.sub_agent.name)
      const parent = await this.#storage.conversations.get(at.parent_conversation_id)
      const reading = parent === null ? null : (await this.#access.readRows([parent], actor))[0]
      if (parent === null || reading == null) break
      ;[at, root, shown] = [parent, parent.id, shown ?? reading.record.title]
      record = reading.record
    }
    return { names, root, title: shown }
  }
}

const isWaiting = ({ execution_status, awaiting_approval }: Reading['state']): boolean =>
  execution_status === 'waiting_for_confirmation' && awaiting_approval !== null
