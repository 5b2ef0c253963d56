/** Opens local workspaces; all conversations of a server share one connection to one runner. */
import { dirname, join, resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { Backoff } from '../lib/index.ts'
import type { OpenCount } from '../quotas/index.ts'
import type { Account } from './account/account.ts'
import type { CallProof } from './call-proof.ts'
import { openCheckpoints } from './checkpoints/checkpoints.ts'
import type { RunCheckpointProgram } from './checkpoints/git.ts'
import type { CheckpointLimits } from './checkpoints/limits.ts'
import { asParleyError } from './file-errors.ts'
import { LocalWorkspace, type LocalDeps } from './local.ts'
import { notRecorded } from './not-recorded.ts'
import { RunnerClient } from './runner-client.ts'
import { startRunner } from './runner-start.ts'
import { conversationMark } from './runner/environment.ts'
import { hasAnyLedger, namesConversation, otherProtocols } from './runner/ledger/ledger-reader.ts'
import { groupsOf } from './runner/groups/process-groups.ts'
import { openPlace, type Place } from './runner/ipc/place.ts'
import { EPOCHS_PER_START, type ExecAnswer } from './runner/ipc/protocol.ts'
import { endProcesses } from './runner/process-tree.ts'
import { makeOwnedFolder } from './account/owned-folder.ts'
import { makeFolder } from './roots/folder-handle.ts'
import { resolveLinks } from './roots/real-path.ts'
import type { RootsOf } from './roots/roots.ts'
import type { SandboxPolicy } from './isolation.ts'
import { PLAIN_SHELL, type ShellEnvironment } from './shell-environment.ts'
import { findBubblewrap } from './runner/sandbox/sandbox.ts'
import { boxFoldersOf, removeBox, viewOf } from './runner/sandbox/view.ts'
import type { Workspaces } from './workspace.ts'

export type LocalWorkspacesOptions = {
  /** The runner keeps its ledger, outputs and sockets in `<dataDir>/runner`. One runner per directory. */
  dataDir: string
  /** The directories that each user may reach. */
  roots: RootsOf
  /** The account that commands run as; null or absent: that of this process. */
  account?: Account | null
  /** Program of the runner; default: the sources of this package. */
  runnerEntry?: string
  /** Milliseconds without a process, a shell or a request, after which the runner ends; default 60 s. */
  idleExitMs?: number
  /** Milliseconds without a connected server, after which the runner ends its processes and itself; default 15 min. */
  orphanExitMs?: number
  /** Milliseconds between signs of life of the runner; default 10 s. A runner that misses six is ended and replaced. */
  heartbeatMs?: number | undefined
  /** Absent or `off`: commands have all permissions of this account. */
  sandbox?: SandboxPolicy
  /** Variables for every command, and a file that shells read first. Absent: none. */
  shell?: ShellEnvironment
  /** Waits between repetitions of a request that a full disk refuses; default 1 s to 10 s. */
  backoff?: Backoff
  /** Longest repetition, in milliseconds, of programs outside of conversations, whose users wait for an answer; default 30 s. */
  hostWaitMs?: number
  log?: Record<'info' | 'warn', (fields: object, text: string) => void>
  /** Absent: a call that the ledger does not name counts as never begun. */
  proof?: CallProof
  /** Counts the commands and programs of each user; absent: there is no limit. */
  processes?: OpenCount
  /** Limits of checkpoints other than the usual ones. */
  checkpointLimits?: Partial<CheckpointLimits>
}

const HOST_WAIT_MS = 30_000

/** Bytes of the output of a program for checkpoints: the names of all files of a large workspace. */
const MAX_LIST_BYTES = 64 * 1024 * 1024

/** Starts no process: `warmUp` or the first command starts the runner, which stays when the workspaces are disposed. */
export function openLocalWorkspaces(options: LocalWorkspacesOptions): Workspaces {
  const dataDir = resolve(options.dataDir)
  let opened: { place: Place; client: RunnerClient } | null = null
  const runner = () => (opened ??= openRunner(dataDir, options))
  const { mode, ...policy } = options.sandbox ?? { mode: 'off', network: true }
  const account = options.account ?? null
  const sandbox = mode === 'off' ? null : { isRequired: mode === 'required', ...policy }
  let bubblewrap: ReturnType<typeof findBubblewrap> | null = null
  const confines = async () =>
    sandbox !== null &&
    (sandbox.isRequired || 'path' in (await (bubblewrap ??= findBubblewrap(process.env['PATH'], account))))
  const folders = new Map<string, string>()
  const { proof } = options
  const home = join(dataDir, 'runner')
  // A runner may be alive although its ledger is lost.
  const hasLedger = () => hasAnyLedger(home) || proof?.hasLedger === true

  const release: LocalDeps['release'] = async (scope) => {
    folders.delete(scope.conversation)
    if (!hasLedger()) return removeBox(home, scope.conversation)
    const { client, place } = runner()
    const signal = new AbortController().signal
    const ask = () => client.askIfRunning({ op: 'release', ...scope }, signal)
    // A runner that ended under the request may have left it undone.
    let answer = await ask().catch((error: unknown) => {
      if (error instanceof ParleyError && error.code === 'unavailable') return ask()
      throw error
    })
    // What the ledger holds of this conversation would otherwise stay, and count for a later one with the same id.
    if (answer === null && (await namesConversation(home, scope.conversation)))
      answer = await client.ask({ op: 'release', ...scope }, signal)
    // A runner that died may have left processes; their mark or group identifies them.
    if (answer === null) {
      const groups = groupsOf(place, scope.conversation)
      await endProcesses({ mark: conversationMark(place.root, scope.conversation), leaders: new Set(), groups })
    }
    // A living runner has removed the folder already; file operations may have created it again.
    await removeBox(place.home, scope.conversation)
  }

  const runForCheckpoint: RunCheckpointProgram = async (place, { folder, stdin, isOutside, ...program }, signal) => {
    const chunks: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
    const workspace = await resolveLinks(place.workingDir)
    const box =
      sandbox === null || isOutside === true ? null : { ...sandbox, network: false, workspace, folder, isOwn: true }
    const input = stdin === undefined ? null : Buffer.from(stdin).toString('base64')
    const spec = { ...program, stdin: input, maxBytes: MAX_LIST_BYTES, box }
    const epoch = (proof?.start ?? 0) * EPOCHS_PER_START + place.epoch
    const request = { op: 'exec' as const, conversation: place.conversationId, epoch, call: null, spec }
    const onChunk = (stream: 'stdout' | 'stderr', data: Buffer) => chunks[stream].push(data)
    const { exit_code, dropped } = (await runner().client.ask(request, signal, { onChunk })) as ExecAnswer
    const stderr = Buffer.concat(chunks.stderr).toString()
    return { exit_code, stdout: Buffer.concat(chunks.stdout), stderr, isComplete: dropped.stdout === 0 }
  }

  return {
    checkpoints: openCheckpoints(runForCheckpoint, account, options.checkpointLimits),
    async open(spec, signal) {
      signal.throwIfAborted()
      const workingDir = resolve(spec.workingDir)
      const roots = options.roots(spec.owner)
      const real = await roots.directory(workingDir, ['working_dir'])
      await asParleyError(workingDir, async () => {
        if (account !== null) makeOwnedFolder(dirname(openPlace(dataDir, account).home), real, account)
        await makeFolder(real, account)
      })
      const isHost = spec.conversationId.startsWith('host-')
      if (sandbox !== null && !isHost) folders.set(spec.conversationId, real)
      const isConfined = await confines()
      const runnerHome = { home: isConfined || account !== null ? openPlace(dataDir, account).home : '', account }
      const deps: LocalDeps = {
        hasLedger,
        roots,
        hasOtherRunner: () => otherProtocols(home).length > 0,
        proven: async (entries) => (await proof?.proven(spec.conversationId, entries)) ?? entries,
        release,
        sandbox,
        shell: options.shell ?? PLAIN_SHELL,
        backoff: options.backoff,
        waitMs: isHost ? (options.hostWaitMs ?? HOST_WAIT_MS) : undefined,
        log: options.log,
        processes: options.processes === undefined ? null : ofOwner(options.processes, spec.owner),
        own: isConfined || account !== null ? () => boxFoldersOf(runnerHome, spec.conversationId) : null,
        confinement: isConfined
          ? (around) =>
              viewOf(runnerHome, spec.conversationId, { ...sandbox, ...around, workspace: real }, folders.values())
          : null,
        get client() {
          return runner().client
        },
      }
      opened?.client.send({
        op: 'claim',
        conversation: spec.conversationId,
        epoch: spec.epoch,
        owner: String(process.pid),
      })
      return new LocalWorkspace({ ...spec, workingDir, real }, deps)
    },
    release: (conversation) => release({ conversation, epoch: null }),
    forget: (conversation, calls) => opened?.client.send({ op: 'forget', conversation, epoch: null, calls }),
    async [Symbol.asyncDispose]() {
      await opened?.client[Symbol.asyncDispose]()
    },
  }
}

const ofOwner = (processes: OpenCount, owner: string): LocalDeps['processes'] => ({
  refusal: () => processes.refusalOf(owner),
  add: () => processes.add(owner),
})

function openRunner(dataDir: string, options: LocalWorkspacesOptions): { place: Place; client: RunnerClient } {
  const { runnerEntry, idleExitMs = 60_000, orphanExitMs = 15 * 60_000, proof, log, account = null } = options
  const place = openPlace(dataDir, account)
  const client = new RunnerClient(place, {
    runsAs: account?.uid ?? null,
    heartbeatMs: options.heartbeatMs,
    async onConnect(link) {
      try {
        await proof?.bind(link.ledger)
      } catch (error) {
        if (!(error instanceof ParleyError) || error.code !== 'unavailable') throw error
        throw notRecorded('the store refuses to record the runner of commands', error)
      }
    },
    onHung: (pid) => log?.warn({ data_dir: dataDir, pid, ended: pid !== null }, 'runner hung'),
    async start() {
      const begun = performance.now()
      const entry = runnerEntry === undefined ? {} : { runnerEntry }
      const isAfterLoss = proof?.hasLedger === true && !hasAnyLedger(place.home)
      await startRunner(place, { dataDir, idleExitMs, orphanExitMs, isAfterLoss, account, ...entry })
      log?.info({ data_dir: dataDir, ms: Math.round(performance.now() - begun) }, 'runner started')
    },
  })
  return { place, client }
}
