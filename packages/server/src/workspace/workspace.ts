/**
 * Where a conversation's commands and files are. Every process of a conversation starts here.
 *
 * Invariants
 *   W1. A process is started by the runner, which outlives the server: a killed server loses no process and no exit code.
 *   W2. A call id is started at most once. Asking again attaches to the same process, running or ended.
 *   W3. A request that carries an older epoch than the newest claim is refused.
 *   W4. A process gets an allow-listed environment plus what its request names; never the server's own.
 *   W5. A path that a caller gives never leaves the workspace through `..` or a link where confinement is asked for.
 */
import type { ConversationId, RemoteWorkspace } from '@parley/protocol'

/** What the ledger knows of one call. `absent`: it was never started here. */
export type LedgerEntry =
  | { state: 'absent' }
  | { state: 'running'; pid: number; started_at: string }
  | { state: 'exited'; exit_code: number | null; signal: string | null; started_at: string; ended_at: string }
  /** The runner itself died or was restarted in between: the outcome cannot be known. */
  | { state: 'unknown' }

export type ExecRequest = {
  /** Idempotency key. Absent: not kept in the ledger. */
  callId?: string
  /** Program and arguments; never a shell line. */
  argv: readonly string[]
  /** Relative to the working directory; default the working directory. */
  cwd?: string
  /** Added to the allow-listed environment. */
  env?: Readonly<Record<string, string>>
  /** Written to standard input, which is then closed. */
  stdin?: string
  /** Milliseconds until the whole process group is ended. */
  timeoutMs?: number
  /** Bytes kept of each stream (head and tail); default 1 MiB. */
  maxBytes?: number
}

export type ExecResult = {
  exit_code: number | null
  signal: string | null
  stdout: string
  stderr: string
  timedOut: boolean
  /** Bytes left out of the middle of each stream. */
  dropped: { stdout: number; stderr: number }
}

export type TerminalRequest = {
  callId: string
  /** Empty: look at what the running command has printed since. */
  command: string
  /** Text or a key name (`C-c`) for the running command. */
  isInput: boolean
  /** Start over with a new shell first. */
  reset: boolean
  /** Hard limit in milliseconds; null: only the silence limit applies. */
  timeoutMs: number | null
  /** Milliseconds without new output after which control returns; the command goes on. */
  noChangeMs: number
  /** For this command only. */
  env?: Readonly<Record<string, string>>
}

export type TerminalResult = {
  /** `running`: a limit passed and the command goes on. `refused`: nothing was executed, `output` says why. `lost`: the shell ended under it. */
  outcome: 'exited' | 'running' | 'refused' | 'lost'
  /** Which limit passed. */
  limit: 'timeout' | 'silence' | null
  exit_code: number | null
  /** Output not returned before, escapes removed. */
  output: string
  /** Characters left out of the middle of `output`, because the bound was passed. */
  dropped: number
  working_dir: string
  pid: number | null
  /** Who and where the shell is, and the Python it would run; null before there was one. */
  shell: { user: string; host: string; python: string | null } | null
  /** A previous command of this shell goes on and this request was not for it. */
  busyWith: string | null
}

/** A process with open pipes: stdio MCP servers, ACP subprocesses. */
export interface Process extends AsyncDisposable {
  readonly pid: number
  readonly stdin: WritableStream<Uint8Array>
  readonly stdout: ReadableStream<Uint8Array>
  readonly stderr: ReadableStream<Uint8Array>
  readonly exited: Promise<{ exit_code: number | null; signal: string | null }>
  kill(signal: NodeJS.Signals): Promise<void>
}

export type FileStat = { kind: 'file' | 'directory' | 'other'; size: number; mode: number; mtimeMs: number }

export interface Workspace extends AsyncDisposable {
  readonly workingDir: string
  /** A folder of this conversation alone, as its processes see it, that they can write. Absent: any folder of this machine is one. */
  readonly privateDir?: string
  /** Runs to the end. */
  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecResult>
  /** The conversation's persistent shell. */
  terminal(request: TerminalRequest, signal: AbortSignal): Promise<TerminalResult>
  /** Starts a program and hands out its pipes. */
  spawn(request: Omit<ExecRequest, 'stdin' | 'timeoutMs' | 'maxBytes'>, signal: AbortSignal): Promise<Process>
  /** What became of calls, for recovery. */
  ledger(callIds: readonly string[], signal: AbortSignal): Promise<Record<string, LedgerEntry>>
  /** Sends Ctrl-C to whatever the shell runs in the foreground. */
  interrupt(): Promise<void>
  /**
   * Makes sure that work can begin: the working directory is there and can be reached. Absent where nothing can be in the way.
   * @throws ParleyError within about `patienceMs`, with the reason.
   */
  prepare?(signal: AbortSignal, patienceMs: number): Promise<void>
  /** Ends every process of this conversation and forgets its ledger. Safe to call twice. */
  release(): Promise<void>

  /** Absolute path of `path`; relative ones are taken from the working directory. */
  resolve(path: string): string
  stat(path: string, signal: AbortSignal): Promise<FileStat | null>
  /** The path with every link followed; null when nothing is there. Absent where a workspace cannot tell. */
  realPath?(path: string, signal: AbortSignal): Promise<string | null>
  readFile(path: string, signal: AbortSignal): Promise<Uint8Array>
  /** Atomic; keeps the mode of an existing file, follows a link, applies the umask to a new file, creates parents. */
  writeFile(path: string, data: Uint8Array, signal: AbortSignal): Promise<void>
  remove(path: string, signal: AbortSignal): Promise<void>
  /** Keeps a text outside the working directory, where commands can read it; its path. Absent: this machine is that place. */
  keepText?(name: string, text: string, signal: AbortSignal): Promise<string>
  list(path: string, signal: AbortSignal): Promise<{ name: string; kind: FileStat['kind'] }[]>
}

/** Opens workspaces; one per process, made in `compose.ts`. */
export interface Workspaces extends AsyncDisposable {
  /**
   * The workspace of one conversation. Creates the working directory; starts no process.
   * `epoch` fences requests of earlier owners once the first request reaches the runner.
   */
  open(
    spec: {
      conversationId: ConversationId
      workingDir: string
      epoch: number
      /** The agent server that it is on; absent or null: this machine. */
      remote?: RemoteWorkspace | null
    },
    signal: AbortSignal,
  ): Promise<Workspace>
  /**
   * Ends every process of a conversation that is not open here (deletion), also those on another server. Starts no runner for it.
   */
  release(conversationId: ConversationId, remote?: RemoteWorkspace | null): Promise<void>
  /**
   * What these calls printed is stored by now: the raw text, which may hold secrets, is to be kept no longer. Does not wait.
   * Absent: nothing is kept.
   */
  forget?(conversationId: ConversationId, callIds: readonly string[]): void
}
