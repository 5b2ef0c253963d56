/**
 * Frames of the runner's socket. Both ends have one version, because a server uses only runners of its own protocol. A runner of
 * another protocol in the same data directory keeps its commands until they end (`other-runner.ts`).
 */
import type { Network } from '../../../lib/index.ts'
import type { LedgerEntry, TerminalRequest, TerminalResult } from '../../workspace.ts'

/** Raised with every change of the frames or of the ledger that another version would misunderstand. Version 0.1.0 has 4. */
export const PROTOCOL = 5

/**
 * Epochs of conversations start again when an older store is restored or an id is used again, so the number of the server's
 * start on this data directory precedes them: the epoch of a request is `start * EPOCHS_PER_START + epoch`.
 */
export const EPOCHS_PER_START = 2 ** 32

/** Argument of the program of a runner when the ledger of an earlier one is lost. */
export const AFTER_LOSS = 'after-loss'

/** The conversation that a request is for, and the epoch of its sender (W3). */
export type Scope = { conversation: string; epoch: number }

export type ProcessSpec = {
  argv: readonly string[]
  /** Absolute. */
  cwd: string
  env: Readonly<Record<string, string>>
  /** Absent or null: no sandbox. */
  box?: Box | null
}

/** Limits of the processes of a sandbox. `memoryBytes` null: all memory. */
export type Limits = { processes: number; memoryBytes: number | null }

/** The sandbox of a process. */
export type Box = {
  /** Without a working sandbox, the process is refused; otherwise it then runs unsandboxed. */
  isRequired: boolean
  network: Network
  /** Absolute path of the writable folder. */
  workspace: string
  /** Absolute path of one more writable folder, which no other process of the conversation sees. A program of the server has one. */
  folder?: string
  /** Absolute paths of further directories to show read-only. */
  toolchains?: readonly string[]
  limits?: Limits
  /** Absolute path of a file that sets shells up, which is shown. */
  setup?: string
  /** Real paths of directories of its repository that are shown read-only. */
  shown?: readonly string[]
  /** Real paths of git directories that are writable except for their hooks and configuration. */
  writable?: readonly string[]
  /** Real paths in those, and of the workspace, that cannot be changed, if files, or moved. */
  kept?: readonly string[]
  /** A program of the server: protected places are writable. */
  isOwn?: boolean
  /** Absolute paths of files to hide. */
  hidden?: readonly string[]
}

export type ExecSpec = ProcessSpec & {
  /** Base64; null: an empty standard input. */
  stdin: string | null
  timeoutMs: number | null
  maxBytes: number
}

export type TerminalSpec = TerminalRequest & {
  /** The sender shows output before the call ends; absent in requests of earlier versions, which do not know such answers. */
  isLive?: boolean
  /** Absolute path of a file that a new shell reads first; absent or null: none. */
  setup?: string | null
  /** Absolute path in which a new shell starts. */
  cwd: string
  /** Absent or null: no sandbox. */
  box?: Box | null
}

export type Request = { id: number } & (
  | ({ op: 'claim'; owner: string } & Scope)
  | ({ op: 'exec'; call: string | null; spec: ExecSpec } & Scope)
  | ({ op: 'spawn'; call: string | null; spec: ProcessSpec } & Scope)
  | ({ op: 'terminal'; spec: TerminalSpec } & Scope)
  | ({ op: 'ledger'; calls: readonly string[] } & Scope)
  | ({ op: 'interrupt' } & Scope)
  /** `epoch` null: any owner, because the conversation is being deleted. */
  | { op: 'release'; conversation: string; epoch: number | null }
  /** The results of these calls are stored elsewhere, by an owner of the conversation. */
  | { op: 'forget'; conversation: string; epoch: null; calls: readonly string[] }
  /** Bytes for the standard input of a spawned process; null closes it. Answered when the pipe has taken them. */
  | { op: 'input'; process: number; data: string | null }
  | { op: 'flow'; process: number; stream: OutputStream; isPaused: boolean }
  | { op: 'signal'; process: number; signal: NodeJS.Signals }
  /** The sender of request `target` no longer waits. */
  | { op: 'cancel'; target: number }
  | { op: 'ping' }
  | { op: 'shutdown' }
)

/** `stale_epoch`: a newer owner has sent a request. `unknown_outcome`: an earlier runner died during this call. */
export type RefusalCode = 'stale_epoch' | 'unknown_outcome' | 'unavailable' | 'invalid_input' | 'internal'

/** Why a request is refused that is `unavailable`. `not_recorded`: the disk is full; nothing has begun, and it can be repeated. */
export type RefusalReason = 'not_recorded'

export type OutputStream = 'stdout' | 'stderr'

export type ExecAnswer = {
  exit_code: number | null
  signal: string | null
  timedOut: boolean
  dropped: { stdout: number; stderr: number }
}
export type TerminalAnswer = Omit<TerminalResult, 'output'>
export type SpawnAnswer = { process: number; pid: number }
export type LedgerAnswer = { entries: Record<string, LedgerEntry> }
export type PingAnswer = { pid: number; processes: number; terminals: number; rssBytes: number }

/** Chunks of a request come before its `ok`. */
export type Answer =
  | { id: number; ok: unknown }
  | { id: number; error: { code: RefusalCode; message: string; reason?: RefusalReason } }
  | { id: number; chunk: { stream: OutputStream; data: string } }
  /** Output of a command that runs, which the chunks contain once more. */
  | { id: number; live: string }

export type RunnerEvent =
  /**
   * `ledger`: id of its call ledger; absent in version 0.1.0. `runsAs`: user id that it starts programs with; null or absent: that of its
   * own process. The other members are the same in every version.
   */
  | { event: 'hello'; protocol: number; pid: number; ledger?: string; runsAs?: number | null }
  /** The runner is ending. Requests without an answer were not begun. */
  | { event: 'bye' }
  | { event: 'output'; process: number; stream: OutputStream; data: string }
  | { event: 'end'; process: number; stream: OutputStream }
  | { event: 'exit'; process: number; exit_code: number | null; signal: string | null }

/** Thrown inside the runner; becomes an error answer. */
export class Refusal extends Error {
  readonly code: RefusalCode
  constructor(code: RefusalCode, message: string) {
    super(message)
    this.name = 'Refusal'
    this.code = code
  }
}
