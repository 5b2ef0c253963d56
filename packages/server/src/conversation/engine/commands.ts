import { newConversationId, ParleyError, type Draft, type SecurityAnalyzer } from '@parley/protocol'
import type { Log } from '../../observability/index.ts'
import type { Quotas } from '../../quotas/index.ts'
import type { RootsOf, WorkspaceRemoval, Workspaces } from '../../workspace/index.ts'
import { withAcceptedAnalyzer } from '../commands.ts'
import type { Actor, Conversations, StartRequest } from '../conversations.ts'
import type { Roster } from '../live/roster.ts'
import { remoteOf, type ConversationRecord } from '../record/record.ts'
import type { RunObserver } from '../run/running.ts'
import { fork } from '../start/fork.ts'
import { ForkWorkspace } from '../start/fork-workspace.ts'
import type { ForkedFiles } from '../start/forked-files.ts'
import { expectParent } from '../start/parent.ts'
import { expectReachable } from '../start/reachable.ts'
import { accepted, create, expectNoForeignFiles, expectSame, type StartDeps } from '../start/start.ts'
import { unknownConversation, type ConversationAccess } from './access.ts'
import { deletion, type DeletionDeps } from './deletion.ts'
import type { Releases } from './releases.ts'
import { StoppedProcesses } from './stopped-processes.ts'

/**
 * Milliseconds after which a stop without hooks is answered, even if its processes have not ended, and the least that they have.
 * Source: docs/operations.md, The runner.
 */
const STOP_MS = { all: 4_500, processes: 500 }

export type CommandDeps = {
  start: StartDeps
  readRecord: (text: string) => ConversationRecord
  quotas: Quotas
  coordination: DeletionDeps['coordination']
  roots: RootsOf
  workspaces: Workspaces
  releases: Pick<Releases, 'settle'>
  removal: Pick<WorkspaceRemoval, 'record'>
  runs: RunObserver
  /** True for a user of whom nothing may run. */
  isSuspended: (user: string) => boolean
  /** An analyzer's configuration as it is stored. @throws ParleyError `invalid_input` for one that cannot be opened. */
  acceptAnalyzer: (requested: SecurityAnalyzer) => Promise<SecurityAnalyzer>
  log: Pick<Log, 'warn'>
}

export type Commands = Pick<Conversations, 'start' | 'update' | 'delete' | 'send' | 'ask' | 'fork'>

/** The calls of the engine that create, change and delete conversations. */
export function openCommands(access: ConversationAccess, roster: Roster, deps: CommandDeps): Commands {
  const { start, readRecord, workspaces, acceptAnalyzer } = deps
  const { conversations } = start.storage
  const stopped = new StoppedProcesses(workspaces, deps.log)
  const { checkpoints } = workspaces
  const forkWorkspace = new ForkWorkspace({ ...start, checkpoints, conversations, made: deps.removal, log: deps.log })

  /** A repeated request finds its conversation, whatever has become of the directory. */
  const expectNewIsReachable = async (request: StartRequest, actor: Actor): Promise<void> => {
    const { conversation_id: id } = request
    if (id !== undefined && (await conversations.get(id)) !== null) return
    await deps.quotas.expectNewConversation(actor.user)
    if (id !== undefined) await expectNoForeignFiles(start, id, actor)
    await expectReachable(request, deps.roots(actor.user))
  }

  /** A request that was admitted just before its user was disabled. */
  const expectActive = ({ user }: Actor): void => {
    if (deps.isSuspended(user)) throw new ParleyError('forbidden', `User ${user} is disabled.`)
  }

  return {
    async start(requested, actor) {
      expectActive(actor)
      const request = await accepted(requested, acceptAnalyzer)
      await expectNewIsReachable(request, actor)
      await expectParent(request, actor, { get: (id) => conversations.get(id), readRecord })
      const started = await create(start, request, actor)
      if ('existing' in started) {
        const row = await conversations.get(started.existing)
        expectSame(row, row === null ? null : readRecord(row.record), request, actor)
        return { created: false, info: await access.info(await access.readRow(row!)) }
      }
      const live = roster.admit(started.row, started.record, started.state)
      live.resume()
      const reading = { row: started.row, record: live.record, state: live.state() }
      return { created: true, info: await access.info(reading) }
    },

    async update(id, change, actor) {
      const live = await access.live(id, actor)
      const drafts: Draft[] = []
      if (change.tags !== undefined)
        drafts.push({ kind: 'StateChangedEvent', source: 'user', key: 'tags', value: change.tags } as Draft)
      await live.update(change, drafts)
    },

    delete: (id, actor, workspace = 'auto') => deletion({ id, actor, workspace }, { access, roster, stopped, ...deps }),

    async send(id, requested, actor) {
      if (requested.kind !== 'stop') expectActive(actor)
      const command = await withAcceptedAnalyzer(requested, acceptAnalyzer)
      const live = await access.live(id, actor)
      if (command.kind === 'send_message') await deps.quotas.expectRoom(actor.user)
      if (command.kind === 'condense') await deps.quotas.expectMoney(actor.user)
      if (command.kind === 'start') await stopped.settled(id)
      if (command.kind !== 'stop') return live.send(command, actor)
      const asked = performance.now()
      await live.send(command, actor)
      const { record, state } = await access.read(id, actor)
      // A call that may have begun is recovered later, which needs its ledger. Calls that wait for an approval have not begun.
      const waiting = new Set(state.awaiting_approval?.actions.map(({ action_id }) => action_id))
      if (!state.open_actions.every((action) => waiting.has(action.id))) return
      const leftMs = STOP_MS.all - (performance.now() - asked)
      const late = AbortSignal.timeout(Math.max(Math.round(leftMs), STOP_MS.processes))
      await stopped.end(id, remoteOf(record.workspace), late)
    },

    async ask(id, question, actor, signal) {
      expectActive(actor)
      // A received conversation is unknown here, not a conflict.
      if ((await access.find(id, actor)).origin === 'received') throw unknownConversation(id)
      const live = await access.live(id, actor)
      await deps.quotas.expectMoney(actor.user)
      return live.ask(question, signal)
    },

    async fork(id, request, actor) {
      expectActive(actor)
      const source = await access.read(id, actor)
      await deps.quotas.expectNewConversation(actor.user)
      const asked = { ...request, id: request.id ?? newConversationId() }
      await forkWorkspace.discardUnfinished(asked.id)
      await expectNoForeignFiles(start, asked.id, actor)
      const from = request.from_event_id ?? null
      const seq = from === null ? null : ((await start.storage.events.get(id, from))?.seq ?? 0)
      const create = (files: ForkedFiles | null) => fork(start, source, asked, actor, files)
      const { result, files } = await forkWorkspace.make(source, () => access.live(id, actor), seq, asked.id, create)
      // No read resumes the start of a copy where every node answers reads.
      if (deps.coordination.isShared)
        roster
          .resume(result)
          .catch((err: unknown) => deps.log.warn({ conversation_id: result, err }, 'copy not started'))
      return { info: await access.info(await access.read(result, actor)), files }
    },
  }
}
