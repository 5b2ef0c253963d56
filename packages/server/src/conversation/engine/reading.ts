import {
  textOf,
  type ConversationId,
  type ConversationInfo,
  type ConversationProgress,
  type EventId,
} from '@parley/protocol'
import { TimeSlices } from '../../lib/index.ts'
import { excerptOf, type EventStore, type ListedRow, type ReceivedRow, type Storage } from '../../storage/index.ts'
import { ancestors } from '../branch/reader.ts'
import { completionFolder, listCompletions, readCompletion } from '../completions/completion-files.ts'
import type { Exposure } from '../../secrets/index.ts'
import type { Actor, Conversations, Purpose } from '../conversations.ts'
import { listed, receivedProgress } from '../listing.ts'
import type { Roster } from '../live/roster.ts'
import { clientCount } from '../log/client-events.ts'
import { eventPage } from '../log/event-page.ts'
import { withoutUsageLists } from '../record/info.ts'
import { conversationProgress } from '../record/progress.ts'
import type { Reading } from '../record/reading.ts'
import { workspaceSpec } from '../record/record.ts'
import { conversationStatus } from '../record/start-status.ts'
import type { WorkspaceSpec } from '../../workspace/index.ts'
import type { ShownBatches } from '../watch/shown-batches.ts'
import type { ConversationAccess } from './access.ts'
import { UsageReads } from './usage.ts'
import { WaitingApprovalReads } from './waiting-approvals.ts'

export type Reads = Pick<
  Conversations,
  | 'info'
  | 'infos'
  | 'progress'
  | 'progresses'
  | 'list'
  | 'search'
  | 'count'
  | 'finalResponse'
  | 'searchEvents'
  | 'countEvents'
  | 'outline'
  | 'approvals'
  | 'find'
  | 'usage'
  | 'event'
  | 'completions'
  | 'completion'
> & {
  /** As an item of `infos`, for a conversation of this server only; null for an unknown or a received one. */
  ownInfo(id: ConversationId, actor: Actor): Promise<ConversationInfo | null>
  /**
   * The workspace of a conversation of this server, with the key of another server. Only for the server itself.
   * @throws ParleyError `not_found`; `conflict` for a received conversation
   */
  placeOf(id: ConversationId, actor: Actor): Promise<WorkspaceSpec>
}

/** Reads rows of this server and of other servers in the forms that the calls return. */
function openRowReads(
  access: ConversationAccess,
  conversations: Storage['conversations'],
  roster: Roster,
  shownBatches: ShownBatches,
) {
  async function progressOf(reading: Reading, purpose: Purpose = 'show'): Promise<ConversationProgress> {
    if (purpose === 'show') await shownBatches.addStatus(reading.row.id, reading.state)
    const { id, seq } = reading.row
    const children = await conversations.children(id)
    const { watchers } = roster.channel(id, seq)
    roster.release(id)
    return conversationProgress(reading, { watchers, children })
  }

  /** Reads the rows in their order, each in the way of its origin; null for rows that are null. */
  async function each<T>(
    rows: readonly (ListedRow | null)[],
    actor: Actor,
    { own, other }: { own: (reading: Reading) => Promise<T>; other: (row: ReceivedRow) => T },
  ): Promise<(T | null)[]> {
    const readings = await access.readRows(
      rows.map((row) => (row?.origin === 'own' ? row : null)),
      actor,
    )
    const slices = new TimeSlices()
    const shown: (T | null)[] = []
    for (const [index, row] of rows.entries()) {
      await slices.next()
      const reading = readings[index] ?? null
      shown.push(row?.origin === 'received' ? other(row) : reading === null ? null : await own(reading))
    }
    return shown
  }
  const infoOf = async (reading: Reading, exposure?: Exposure, purpose: Purpose = 'show') => {
    if (purpose === 'show') await shownBatches.addStatus(reading.row.id, reading.state)
    return access.info(reading, exposure)
  }
  const asInfo = {
    own: async (reading: Reading) => {
      await shownBatches.addStatus(reading.row.id, reading.state)
      return access.listedInfo(reading)
    },
    other: (row: ReceivedRow) => withoutUsageLists(access.receivedInfo(row)),
  }
  const asProgress = {
    own: (reading: Reading) => progressOf(reading),
    other: (row: ReceivedRow) => {
      const { created_at, updated_at: last_updated_at } = row
      return receivedProgress(access.receivedInfo(row), { created_at, last_updated_at })
    },
  }
  const ownRows = async (ids: readonly ConversationId[]) =>
    (await conversations.getMany(ids)).map((row) => (row === null ? null : { ...row, origin: 'own' as const }))

  return { progressOf, infoOf, each, asInfo, asProgress, ownRows }
}

/** The calls of the engine that read conversations and their events, including those of conversations of other servers. */
export function openReads(
  access: ConversationAccess,
  { conversations, events, received }: Storage,
  roster: Roster,
  shownBatches: ShownBatches,
  { folderOf, isShared }: { folderOf: (id: ConversationId) => string; isShared: boolean },
): Reads {
  const { progressOf, infoOf, each, asInfo, asProgress, ownRows } = openRowReads(
    access,
    conversations,
    roster,
    shownBatches,
  )

  const waiting = new WaitingApprovalReads(access, { conversations, events }, shownBatches)

  const usage = new UsageReads(access)

  return {
    approvals: (actor) => waiting.list(actor),

    usage: (id, page, actor) => usage.of(id, page, actor),

    async info(id, actor, exposure, purpose) {
      const row = await access.find(id, actor)
      return row.origin === 'received' ? access.receivedInfo(row) : infoOf(await access.readRow(row), exposure, purpose)
    },

    async infos(ids, actor) {
      const own = await each(await ownRows(ids), actor, asInfo)
      const missing = async (id: ConversationId) => {
        const row = await received.get(actor.user, id)
        return row === null ? null : withoutUsageLists(access.receivedInfo(row))
      }
      return Promise.all(own.map(async (info, index) => info ?? missing(ids[index]!)))
    },

    async ownInfo(id, actor) {
      const own = { own: (reading: Reading) => access.listedInfo(reading), other: asInfo.other }
      const [info = null] = await each(await ownRows([id]), actor, own)
      return info
    },

    async placeOf(id, actor) {
      const { row, record } = await access.read(id, actor)
      return workspaceSpec({ id, owner: row.owner, epoch: row.epoch, record })
    },

    async progress(id, actor, purpose) {
      const row = await access.row(id, actor)
      const reading = await access.readRow(row)
      if (conversationStatus(reading.state) !== 'STARTING') return progressOf(reading, purpose)
      // Any node answers this; the owner resumes the start by itself.
      if (isShared) return progressOf(reading, purpose)
      // Loading resumes a start that the previous process left.
      await roster.load(id)
      return progressOf(await access.readRow(row), purpose)
    },

    progresses: async (ids, actor) => each(await ownRows(ids), actor, asProgress),

    list: (search, actor) =>
      listed(search, {
        rows: (limit, from) =>
          received.search({ owner: actor.user, sort: 'CREATED_AT_DESC', limit, ...(from && { from }) }),
        read: (rows) => each(rows, actor, asProgress),
      }),

    async search({ sort_order, limit, status, page_id }, actor) {
      const { items, next } = await received.search({
        owner: actor.user,
        sort: sort_order,
        limit,
        ...(status && { status }),
        ...(page_id && { from: page_id }),
      })
      const infos = await each(items, actor, asInfo)
      return { items: infos.filter((info) => info !== null), next_page_id: next }
    },

    count: async (actor, status) =>
      (await conversations.count(actor.user, status)) + (await received.count(actor.user, status)),

    async finalResponse(id, actor) {
      const { state } = await access.read(id, actor)
      return state.leaf_event_id === null ? '' : finalText(events, id, state.leaf_event_id)
    },

    async searchEvents(id, search, actor) {
      const page = await eventPage(await access.log(id, actor), id, search)
      await shownBatches.addEvents(id, page.items)
      return page
    },

    async countEvents(id, filter, actor) {
      return clientCount(await access.log(id, actor), id, filter)
    },

    async outline(id, range, actor) {
      return (await access.log(id, actor)).outline(id, range)
    },

    async find(id, { text, kinds, limit }, actor) {
      const filter = { text, ...(kinds !== undefined && { kinds }) }
      const found = await (await access.log(id, actor)).page(id, { order: 'desc', limit, filter })
      return found.map(({ seq, event }) => ({ seq, excerpt: excerptOf(event, text) }))
    },

    async event(id, event, actor) {
      const stored = await (await access.log(id, actor)).get(id, event)
      if (stored !== null) await shownBatches.addEvents(id, [stored])
      return stored
    },

    async completions(id, actor) {
      await access.row(id, actor)
      await (await roster.inMemory(id))?.completionsLogged()
      return listCompletions(completionFolder(folderOf(id)))
    },

    async completion(id, filename, actor) {
      await access.row(id, actor)
      return readCompletion(completionFolder(folderOf(id)), filename)
    },
  }
}

/** Text of the last finish or agent message on the branch of a leaf; empty when there is none. */
async function finalText(events: EventStore, id: ConversationId, leaf: EventId): Promise<string> {
  for await (const { event } of ancestors(events, id, leaf)) {
    if (event.kind === 'ActionEvent' && event.tool_name === 'finish')
      return event.action !== null && 'message' in event.action ? String(event.action.message) : ''
    if (event.kind === 'MessageEvent' && event.source === 'agent')
      return textOf(event.llm_message.content, { separator: '' })
  }
  return ''
}
