/** Joins the heart's parts into the one interface that the edges use. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  DEFAULT_PERSISTENCE_DIR,
  ParleyError,
  type ConversationId,
  type ConversationInfo,
  type ConversationProgress,
  type Draft,
} from '@parley/protocol'
import type { Cipher, Exposure } from '../secrets/index.ts'
import type { ConversationRow, OutboxDraft, Storage } from '../storage/index.ts'
import type { Workspaces } from '../workspace/index.ts'
import { hasHooks } from '../hooks/index.ts'
import { Slots } from '../lib/index.ts'
import type { Actor, Conversations, StartRequest, Watcher } from './conversations.ts'
import { ancestors } from './branch/reader.ts'
import { ClientCallBoard } from './live/client-calls.ts'
import { eventPage } from './log/event-page.ts'
import { fork } from './branch/fork.ts'
import { conversationInfo, fullState } from './record/info.ts'
import { listed } from './listing.ts'
import type { LiveDeps } from './live/deps.ts'
import { notification, usageRecords } from './record/notify.ts'
import { readRecord, remoteOf, writeRecord } from './record/record.ts'
import { runEnd } from './run/run-end.ts'
import { Roster, type Reading } from './live/roster.ts'
import { conversationProgress, conversationStatus, isReady } from './start/phases/index.ts'
import { expectParent } from './start/parent.ts'
import { create, expectSame, type StartDeps } from './start/start.ts'
import { Family, type FamilyDeps } from './sub-agents/index.ts'
import { watch } from './watch/watch.ts'

const RECOVER_AT_ONCE = 8

export type HeartDeps = Pick<
  LiveDeps,
  | 'openAgent'
  | 'openHooks'
  | 'runs'
  | 'phases'
  | 'agentDeadlineMs'
  | 'openLlm'
  | 'findLlm'
  | 'judgeModel'
  | 'mask'
  | 'masker'
  | 'log'
> & {
  storage: Storage
  workspaces: Workspaces
  cipher: Cipher
  now: () => Date
  dataDir: string
  /** Where conversations have folders of their own; default `conversations` below the data directory. */
  foldersDir?: string
  /** Nothing of a conversation outlives the process; default false. */
  ephemeral?: boolean
  idleUnloadMs: number
  maxConcurrentRuns: number
  /** Whether anybody is told by webhook of what happens; default false. */
  notifies?: boolean
} & Pick<FamilyDeps, 'llmNames' | 'findDefinitions'>

export type Heart = Conversations & {
  /** Goes on with every conversation that was running when the last process ended. Resolves when all are loaded. */
  recover(): Promise<void>
  /** Stops all runs where they are; a later process goes on with them. */
  close(): Promise<void>
}

/** Opens the heart over a store. Starts nothing by itself; call `recover` once the server listens. */
export function openHeart(deps: HeartDeps): Heart {
  const { storage, cipher, foldersDir = join(deps.dataDir, 'conversations') } = deps
  const slots = new Slots(deps.maxConcurrentRuns)
  let lastActivity = performance.now()
  const start: StartDeps = {
    storage,
    stamps: { now: deps.now },
    writeRecord: (record) => writeRecord(record, cipher),
    workspacesDir: join(deps.dataDir, 'workspaces'),
    folderOf: (id) => join(foldersDir, id),
    persistenceDir: deps.ephemeral === true ? null : DEFAULT_PERSISTENCE_DIR,
    notifies: deps.notifies ?? false,
  }
  const family: Family = new Family({
    ...deps,
    start,
    readRecord: (text) => readRecord(text, cipher),
    roster: {
      load: (id) => roster.load(id),
      admit: (...made) => roster.admit(...made),
      channel: (...of) => roster.channel(...of),
      release: (id) => roster.release(id),
    },
  })
  const board = new ClientCallBoard((id) => join(foldersDir, id))
  const roster: Roster = new Roster({
    ...deps,
    ...start,
    openAgent: (live, signal) => {
      const lend = async <T>(work: () => Promise<T>, own: AbortSignal) => (await roster.load(live.id)).lend(work, own)
      return deps.openAgent({ ...live, subAgents: family.of(live), clientCalls: board.of(live.id, lend) }, signal)
    },
    clientCalls: board,
    kin: family,
    readRecord: (text) => readRecord(text, cipher),
    runSlot: (signal) => slots.take(signal),
    onAnswered: (id, calls) => deps.workspaces.forget?.(id, calls),
    onActivity: () => {
      lastActivity = performance.now()
    },
  })

  /** The row of a conversation that this actor may see. Another user's is as unknown as none. */
  async function rowOf(id: ConversationId, actor: Actor): Promise<ConversationRow> {
    const row = await storage.conversations.get(id)
    if (row === null || !maySee(row, actor))
      throw new ParleyError('not_found', `Conversation not found: ${id}`, { details: { conversation_id: id } })
    return row
  }

  async function read(id: ConversationId, actor: Actor): Promise<Reading> {
    const [reading] = await roster.read([await rowOf(id, actor)])
    return reading!
  }

  async function infoOf(reading: Reading, exposure?: Exposure): Promise<ConversationInfo> {
    const { row } = reading
    const usage = await usageRecords(storage.events, row.id, reading.state)
    const parts = { ...reading, usage, children: await storage.conversations.children(row.id) }
    return conversationInfo(parts, exposure === undefined ? undefined : { exposure, cipher })
  }

  /** What the deletion of a conversation that nothing runs in any more owes to those who are told by webhook. */
  async function farewell(id: ConversationId, actor: Actor): Promise<OutboxDraft[]> {
    if (!deps.notifies) return []
    const { row, record, state } = await read(id, actor)
    const now = { ...row, updated_at: deps.now().toISOString() }
    const usage = await usageRecords(storage.events, id, state)
    return [notification('conversation.deleted', { row: now, record, state, usage })]
  }

  /** What hooks say is gone with the conversation; that they failed stops no deletion. */
  async function farewellOfHooks(id: ConversationId): Promise<void> {
    try {
      await (await roster.load(id)).endSession()
    } catch (error) {
      deps.log.warn({ conversation_id: id, err: error }, 'hooks at the end of a deleted conversation could not be run')
    }
  }

  async function infosOf(
    rows: readonly (ConversationRow | null)[],
    actor: Actor,
  ): Promise<(ConversationInfo | null)[]> {
    const visible = rows.map((row) => (row !== null && maySee(row, actor) ? row : null))
    const readings = await roster.read(visible)
    return Promise.all(readings.map(async (reading) => (reading === null ? null : infoOf(reading))))
  }

  async function progressOf(reading: Reading): Promise<ConversationProgress> {
    const { id, seq } = reading.row
    const children = await storage.conversations.children(id)
    const readers = roster.channel(id, seq).watchers
    roster.release(id)
    return conversationProgress(reading, { readers, children })
  }

  async function progressesOf(
    rows: readonly (ConversationRow | null)[],
    actor: Actor,
  ): Promise<(ConversationProgress | null)[]> {
    const visible = rows.map((row) => (row !== null && maySee(row, actor) ? row : null))
    const readings = await roster.read(visible)
    return Promise.all(readings.map(async (reading) => (reading === null ? null : progressOf(reading))))
  }

  return {
    async start(request: StartRequest, actor: Actor) {
      const readOwn = (text: string) => readRecord(text, cipher)
      await expectParent(request, actor, { get: (id) => storage.conversations.get(id), readRecord: readOwn })
      const started = await create(start, request, actor)
      if ('existing' in started) {
        const row = await storage.conversations.get(started.existing)
        expectSame(row, row === null ? null : readRecord(row.record, cipher), request, actor)
        return { created: false, info: await infoOf((await roster.read([row]))[0]!) }
      }
      const live = roster.admit(started.row, started.record, started.state)
      live.resume()
      return { created: true, info: await infoOf({ row: started.row, record: live.record, state: live.state() }) }
    },

    info: async (id, actor, exposure) => infoOf(await read(id, actor), exposure),

    async progress(id, actor) {
      const row = await rowOf(id, actor)
      let [reading] = await roster.read([row])
      if (conversationStatus(reading!.state) === 'STARTING') {
        // A start that the last process left is taken up by whoever asks first.
        await roster.load(id)
        ;[reading] = await roster.read([row])
      }
      return progressOf(reading!)
    },

    progresses: async (ids, actor) => progressesOf(await storage.conversations.getMany(ids), actor),

    list: (search, actor) =>
      listed(search, {
        rows: (limit, from) =>
          storage.conversations.search({ owner: actor.user, sort: 'CREATED_AT_DESC', limit, ...(from && { from }) }),
        read: (rows) => progressesOf(rows, actor),
      }),

    infos: async (ids, actor) => infosOf(await storage.conversations.getMany(ids), actor),

    async search({ sort_order, limit, status, page_id }, actor) {
      const { items, next } = await storage.conversations.search({
        owner: actor.user,
        sort: sort_order,
        limit,
        ...(status === undefined ? {} : { status }),
        ...(page_id === undefined ? {} : { from: page_id }),
      })
      const infos = await infosOf(items, actor)
      return { items: infos.filter((info) => info !== null), next_page_id: next }
    },

    count: (actor, status) => storage.conversations.count(actor.user, status),

    async update(id, change, actor) {
      await rowOf(id, actor)
      const live = await roster.load(id)
      const drafts: Draft[] = []
      if (change.tags !== undefined) {
        drafts.push({ kind: 'StateChangedEvent', source: 'user', key: 'tags', value: change.tags } as Draft)
      }
      await live.update(change, drafts)
    },

    async delete(id, actor) {
      await rowOf(id, actor)
      const channel = roster.channel(id, 0)
      const { record, state } = await read(id, actor)
      if (isReady(state) && hasHooks(state.hook_config, 'SessionEnd')) await farewellOfHooks(id)
      await roster.evict(id, 'deleted')
      await storage.conversations.delete(id, await farewell(id, actor))
      channel.emit({ kind: 'deleted' })
      const ended = runEnd(state.execution_status, { ...state, execution_status: 'deleting' })
      if (ended !== null) await deps.runs?.ended(id, record, ended)
      await deps.workspaces.release(id, remoteOf(record.workspace))
      // A process that is just ending may still write there.
      await rm(join(foldersDir, id), { recursive: true, force: true, maxRetries: 5 })
    },

    async send(id, command, actor) {
      await rowOf(id, actor)
      await (await roster.load(id)).send(command, actor)
      // A call that nobody knows the end of is still asked about later; only then the ledger has to stay.
      if (command.kind !== 'stop') return
      const { record, state } = await read(id, actor)
      if (state.open_actions.length === 0) await deps.workspaces.release(id, remoteOf(record.workspace))
    },

    async ask(id, question, actor, signal) {
      await rowOf(id, actor)
      return (await roster.load(id)).ask(question, signal)
    },

    async fork(id, request, actor) {
      const source = await read(id, actor)
      const made = await fork(start, source, request, actor)
      return infoOf(await read(made, actor))
    },

    async finalResponse(id, actor) {
      const { row, state } = await read(id, actor)
      if (state.leaf_event_id === null) return ''
      for await (const { event } of ancestors(storage.events, row.id, state.leaf_event_id)) {
        if (event.kind === 'ActionEvent' && event.tool_name === 'finish') {
          return event.action !== null && 'message' in event.action ? String(event.action.message) : ''
        }
        if (event.kind === 'MessageEvent' && event.source === 'agent') {
          return event.llm_message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
        }
      }
      return ''
    },

    async searchEvents(id, search, actor) {
      await rowOf(id, actor)
      return eventPage(storage.events, id, search)
    },

    async countEvents(id, filter, actor) {
      await rowOf(id, actor)
      return storage.events.count(id, filter)
    },

    async event(id, event, actor) {
      await rowOf(id, actor)
      return storage.events.get(id, event)
    },

    async watch(id, after, actor, signal): Promise<Watcher> {
      const { row, record, state } = await read(id, actor)
      const channel = roster.channel(id, row.seq)
      const source = {
        channel,
        page: (from: number, limit: number) => storage.events.page(id, { from, limit }),
        onClose: () => roster.release(id),
      }
      const first = { kind: 'snapshot' as const, seq: state.seq, value: fullState(id, record, state) }
      return watch(source, after === 'now' ? channel.latest : after, first, signal)
    },

    idleMs: () => performance.now() - lastActivity,

    async recover() {
      const ids = await storage.conversations.running()
      const places = new Slots(RECOVER_AT_ONCE)
      const never = new AbortController().signal
      await Promise.all(
        ids.map(async (id) => {
          using _place = await places.take(never)
          await roster.load(id).catch((error: unknown) => {
            deps.log.error({ conversation_id: id, err: error }, 'a running conversation could not be taken over')
          })
        }),
      )
    },

    close: () => roster.close(),
  }
}

function maySee(row: ConversationRow, actor: Actor): boolean {
  return row.owner === actor.user
}
