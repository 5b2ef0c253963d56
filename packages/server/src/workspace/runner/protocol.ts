/**
 * What is said over the runner's socket. Both ends are of one version: a runner is always started from the server's own
 * sources, and `hello` carries `PROTOCOL` so that a server that was upgraded under a living runner notices.
 */
import type { Network } from '../../lib/index.ts'
import type { LedgerEntry, TerminalRequest, TerminalResult } from '../workspace.ts'

export const PROTOCOL = 4

/** Which conversation a request is for, and by which right (W3). */
export type Scope = { conversation: string; epoch: number }

export type ProcessSpec = {
  argv: readonly string[]
  /** Absolute. */
  cwd: string
  env: Readonly<Record<string, string>>
  /** Absent or null: no sandbox. */
  box?: Box | null
}

/** What a sandboxed process may do. */
export type Box = {
  /** Refused where there is no sandbox; otherwise it then runs without. */
  isRequired: boolean
  network: Network
  /** Absolute; the folder that may be written. */
  workspace: string
}

export type ExecSpec = ProcessSpec & {
  /** Base64; null: an empty standard input. */
  stdin: string | null
  timeoutMs: number | null
  maxBytes: number
}

export type TerminalSpec = TerminalRequest & {
  /** Absolute; where a new shell starts. */
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
  /** `epoch` null: whoever owns it; the conversation is being deleted. */
  | { op: 'release'; conversation: string; epoch: number | null }
  /** What these calls printed is stored elsewhere, by whoever owned the conversation then. */
  | { op: 'forget'; conversation: string; epoch: null; calls: readonly string[] }
  /** Bytes for the standard input of a spawned process; null closes it. Answered when the pipe has taken them. */
  | { op: 'input'; process: number; data: string | null }
  | { op: 'flow'; process: number; stream: OutputStream; isPaused: boolean }
  | { op: 'signal'; process: number; signal: NodeJS.Signals }
  /** The asker of request `target` no longer waits. */
  | { op: 'cancel'; target: number }
  | { op: 'ping' }
  | { op: 'shutdown' }
)

/** Why a request was refused. `stale_epoch`: a newer owner has spoken. `unknown_outcome`: an earlier runner died under this call. */
export type RefusalCode = 'stale_epoch' | 'unknown_outcome' | 'unavailable' | 'invalid_input' | 'internal'

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
  | { id: number; error: { code: RefusalCode; message: string } }
  | { id: number; chunk: { stream: OutputStream; data: string } }

export type RunnerEvent =
  | { event: 'hello'; protocol: number; pid: number }
  /** The runner ends itself. What it has not answered, it has not begun. */
  | { event: 'bye' }
  | { event: 'output'; process: number; stream: OutputStream; data: string }
  | { event: 'end'; process: number; stream: OutputStream }
  | { event: 'exit'; process: number; exit_code: number | null; signal: string | null }

/** Raised inside the runner; becomes an error answer. */
export class Refusal extends Error {
  readonly code: RefusalCode
  constructor(code: RefusalCode, message: string) {
    super(message)
    this.name = 'Refusal'
    this.code = code
  }
}
