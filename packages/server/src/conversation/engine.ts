/** Opens the engine: connects its parts and offers them as the one interface that the APIs use. */
import { join } from 'node:path'
import { DEFAULT_PERSISTENCE_DIR } from '@parley/protocol'
import type { Backoff } from '../lib/index.ts'
import type { Coordination } from '../coordination/index.ts'
import type { Quotas } from '../quotas/index.ts'
import { withReferences, type Cipher } from '../secrets/index.ts'
import type { Storage } from '../storage/index.ts'
import type { OpenCallNotes, Workspaces } from '../workspace/index.ts'
import type { Conversations } from './conversations.ts'
import { ConversationAccess } from './engine/access.ts'
import { openCommands, type CommandDeps } from './engine/commands.ts'
import { openReads, type Reads } from './engine/reading.ts'
import { openRecovery } from './engine/recovery.ts'
import { openReleases, type ReleaseDeps } from './engine/releases.ts'
import { openUserWork, type UserWork } from './engine/user-work.ts'
import { openWatching, type Watching } from './engine/watching.ts'
import { ClientCallBoard } from './live/client-calls.ts'
import type { LiveDeps } from './live/deps.ts'
import { Roster } from './live/roster.ts'
import { AppendRetry } from './log/append-retry.ts'
import { openReceiver, type Receiver } from './engine/received.ts'
import { readRecord, writeRecord } from './record/record.ts'
import type { StartDeps } from './start/start.ts'
import { ShownBatches } from './watch/shown-batches.ts'
import { SubAgentSupervisor, type SubAgentSupervisorDeps } from './sub-agents/index.ts'

export type EngineDeps = Pick<
  LiveDeps,
  | 'openAgent'
  | 'openHooks'
  | 'runs'
  | 'phases'
  | 'agentDeadlineMs'
  | 'openLlm'
  | 'findLlm'
  | 'judgeModel'
  | 'pruning'
  | 'mask'
  | 'maskForCommit'
  | 'masker'
  | 'log'
> &
  Pick<CommandDeps, 'acceptAnalyzer' | 'removal' | 'roots' | 'isSuspended'> &
  Pick<ReleaseDeps, 'removal'> &
  Pick<SubAgentSupervisorDeps, 'llmNames' | 'findDefinitions'> & {
    storage: Storage
    coordination: Coordination
    workspaces: Workspaces
    notes: OpenCallNotes
    cipher: Cipher
    now: () => Date
    dataDir: string
    /** Parent of the conversations' own folders. */
    foldersDir: string
    /** True when no conversation outlives the process. */
    ephemeral: boolean
    idleUnloadMs: number
    quotas: Quotas
    /** True while there is a webhook target, so that notifications are drafted. */
    notifies: () => boolean
    /** Called when an append that the store refused is going to be repeated. */
    onAppendRetry: () => void
    /** Waits between repetitions of a release that failed, the shortest of them also between those of appends; default 1 s to 1 min. */
    appendBackoff?: Backoff
  }

export type Engine = Conversations &
  Receiver &
  Pick<Reads, 'ownInfo' | 'placeOf'> &
  Pick<Watching, 'recover' | 'drain' | 'close'> &
  Pick<Roster, 'isLoaded'> &
  UserWork & {
    /** Number of conversations in memory. */
    liveCount(): number
  }

/** Opens the engine over a store. It starts nothing by itself; call `recover` once the server listens. */
export function openEngine(deps: EngineDeps): Engine {
  const { storage, cipher, foldersDir } = deps
  let lastActivity = performance.now()
  const start: StartDeps = {
    storage,
    node: deps.coordination.node,
    place: deps.coordination.place,
    stamps: { now: deps.now },
    cipher,
    writeRecord: (record) => writeRecord(record, cipher),
    referenced: (record) => withReferences(record, cipher),
    workspacesDir: join(deps.dataDir, 'workspaces'),
    worktreesDir: join(deps.dataDir, 'worktrees'),
    folderOf: (id) => join(foldersDir, id),
    persistenceDir: deps.ephemeral ? null : DEFAULT_PERSISTENCE_DIR,
    notifies: deps.notifies,
  }
  const shownBatches = new ShownBatches(storage.notes, deps.coordination.isShared)
  const onActivity = () => {
    lastActivity = performance.now()
  }
  const appendRetry = new AppendRetry(deps.appendBackoff?.baseMs, deps.onAppendRetry)
  /** Runs that hold a slot, or wait for one. */
  let activeRuns = 0
  const onRun = (change: 1 | -1) => {
    activeRuns += change
  }
  const roster = openRoster({ ...deps, shownBatches, onActivity, appendRetry, onRun }, start)
  const access = new ConversationAccess(storage, cipher, roster)
  const read = (text: string) => readRecord(text, cipher)
  const { conversations } = storage
  const backoff = deps.appendBackoff
  const releases = openReleases({ ...deps, conversations, folderOf: start.folderOf, readRecord: read, backoff })
  const recovery = openRecovery({
    ...deps,
    roster,
    freeRuns: () => deps.quotas.runs.count - activeRuns,
    onReturn: () => appendRetry.returned(),
  })
  const commands = openCommands(access, roster, { ...deps, start, releases, readRecord: read })
  return {
    ...openReads(access, storage, roster, shownBatches, { ...start, isShared: deps.coordination.isShared }),
    ...openReceiver({ storage, cipher, quotas: deps.quotas, now: deps.now }),
    ...commands,
    ...openUserWork({ ...deps, conversations, commands, roster }),
    ...openWatching(access, { ...deps, roster, shownBatches, recovery, releases }),
    isLoaded: (id) => roster.isLoaded(id),
    idleMs: () => performance.now() - lastActivity,
    liveCount: () => roster.size,
  }
}

/** The roster with the sub-agents and client calls of its conversations, which need the roster themselves. */
function openRoster(
  deps: EngineDeps & Pick<LiveDeps, 'shownBatches' | 'onActivity' | 'appendRetry' | 'onRun'>,
  start: StartDeps,
): Roster {
  const read = (text: string) => readRecord(text, deps.cipher)
  const subAgents: SubAgentSupervisor = new SubAgentSupervisor({
    ...deps,
    start,
    readRecord: read,
    roster: {
      load: (id) => roster.load(id),
      admit: (...created) => roster.admit(...created),
      channel: (...of) => roster.channel(...of),
      release: (id) => roster.release(id),
    },
  })
  const clientCalls = new ClientCallBoard(deps.notes, start.folderOf)
  const roster: Roster = new Roster({
    ...deps,
    ...start,
    openAgent: (opening, signal) => {
      const withoutSlot = async <T>(work: () => Promise<T>, own: AbortSignal) =>
        (await roster.load(opening.id)).withoutSlot(work, own)
      const tools = { subAgents: subAgents.of(opening), clientCalls: clientCalls.of(opening, withoutSlot) }
      // Not a copy: the record of the opening is read when it is needed.
      return deps.openAgent(Object.assign(opening, tools), signal)
    },
    clientCalls,
    parentLink: subAgents,
    readRecord: read,
    runSlot: (owner, signal) => deps.quotas.runs.take(owner, signal),
    confirm: (signal) => deps.coordination.confirm(signal),
    usedUp: (owner) => deps.quotas.usedUp(owner),
    startSlot: (owner, signal) => deps.quotas.starts.take(owner, signal),
    onAnswered: (id, calls) => deps.workspaces.forget?.(id, calls),
  })
  return roster
}
