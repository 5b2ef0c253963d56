/**
 * The commands and files of a conversation. Every process of a conversation is started through this interface.
 *
 * Invariants
 *   W1. The runner, which outlives the server, starts processes: a killed server loses no process and no exit code.
 *   W2. A call id is started at most once. A repeated request attaches to the same process, running or ended.
 *   W3. A request that carries an older epoch than the newest claim is refused.
 *   W4. The environment of a process consists of allow-listed variables and those of its request, never of the server's own.
 *   W5. Where confinement is on, a path of a caller cannot leave the workspace through `..` or a symlink.
 *   W6. On this machine, a working directory and a `cwd` are directories that the owner's requests may reach.
 */
import type { ConversationId, Place, RemoteWorkspace } from '@parley/protocol'
import type { Account } from './account/account.ts'
import type { Checkpoints } from './checkpoints/checkpoints.ts'

/** Ledger state of one call. `absent`: it was never started here. */
export type LedgerEntry =
  | { state: 'absent' }
  | { state: 'running'; pid: number; started_at: string }
  | { state: 'exited'; exit_code: number | null; signal: string | null; started_at: string; ended_at: string }
  /** The runner died or was restarted during the call, so its outcome cannot be known. */
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
  /** Existing folder outside of the workspace that this program alone may write, too, where programs are sandboxed. */
  folder?: string
  /** A program of the server, not of an agent: it may write protected places of a sandboxed workspace. */
  isOwn?: boolean
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
  /** Empty: return the further output of the running command. */
  command: string
  /** True: `command` is text or a key name (`C-c`) for the running command. */
  isInput: boolean
  /** Replace the shell by a new one first. */
  reset: boolean
  /** Hard limit in milliseconds; null: only the silence limit applies. */
  timeoutMs: number | null
  /** Milliseconds without new output after which the call returns; the command continues. */
  noChangeMs: number
  /** For this command only. */
  env?: Readonly<Record<string, string>>
}

export type TerminalResult = {
  /** `running`: a limit passed and the command continues. `refused`: nothing was executed, `output` says why. `lost`: the shell ended during the command. */
  outcome: 'exited' | 'running' | 'refused' | 'lost'
  /** Which limit passed. */
  limit: 'timeout' | 'silence' | null
  exit_code: number | null
  /** Output not returned before, escapes removed. */
  output: string
  /** Characters left out of the middle of `output`, because it exceeded its limit. */
  dropped: number
  working_dir: string
  pid: number | null
  /** User, host and Python interpreter of the shell; null before there was one. */
  shell: { user: string; host: string; python: string | null } | null
  /** The previous command, when it is still running and this request did not refer to it. */
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

/** What is known of the place of a workspace without starting a program. */
export type WorkspaceFacts = {
  /** Operating system and architecture of its commands. */
  platform: string
  /** The git repository around the working directory. `branch`: null when none is checked out, and when it cannot be read. */
  repository: { root: string; branch: string | null } | null
}

export interface Workspace extends AsyncDisposable {
  readonly workingDir: string
  /** The account of this machine that commands run as. Absent or null: that of the server, or another machine. */
  readonly account?: Account | null
  /** Writable folder of this conversation alone, as its processes see it. Absent: processes can write to any folder of this machine. */
  readonly privateDir?: string
  /** Read anew with each call. Absent: not known. */
  facts?(): Promise<WorkspaceFacts>
  /** True: programs run without a sandbox. Absent on another server. */
  readonly isOpen?: boolean
  /** Runs a program to its end. */
  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecResult>
  /** Runs a command in the conversation's persistent shell. `onOutput` gets finished lines before the result, where that is possible. */
  terminal(request: TerminalRequest, signal: AbortSignal, onOutput?: (text: string) => void): Promise<TerminalResult>
  /** Starts a program with open pipes. */
  spawn(
    request: Omit<ExecRequest, 'stdin' | 'timeoutMs' | 'maxBytes' | 'folder'>,
    signal: AbortSignal,
  ): Promise<Process>
  /** Ledger state of calls, for recovery. */
  ledger(callIds: readonly string[], signal: AbortSignal): Promise<Record<string, LedgerEntry>>
  /** Sends Ctrl-C to the program in the foreground of the shell. */
  interrupt(): Promise<void>
  /**
   * Creates the working directory and checks that it can be reached. Absent where this is always possible.
   * @throws ParleyError within about `patienceMs`, with the reason.
   */
  prepare?(signal: AbortSignal, patienceMs: number): Promise<void>
  /** Starts in the background what the next command needs, unless it is there. The command itself reports a failure. Absent: nothing has to start. */
  warmUp?(): void
  /** Ends every process of this conversation and removes its calls from the ledger. Safe to call twice. */
  release(): Promise<void>

  /** Absolute path of `path`; relative ones start at the working directory. */
  resolve(path: string): string
  /**
   * Real path of a directory of this machine that a request names outside of a conversation. `at`: the member of the request that names it.
   * Absent on another server. @throws RefusedPath when the owner's requests may not reach it
   */
  directory?(path: string, at: Place): Promise<string>
  /**
   * Real path of a file that has another path for the programs of this workspace, because their sandbox gives them a home and a folder for
   * temporary files; null: the file has none. Absent on another server. @throws ParleyError `forbidden` when a link leads elsewhere
   */
  ownFile?(path: string): Promise<string | null>
  stat(path: string, signal: AbortSignal): Promise<FileStat | null>
  /** The path with all symlinks followed; null when nothing exists there. Absent where a workspace cannot resolve paths. */
  realPath?(path: string, signal: AbortSignal): Promise<string | null>
  readFile(path: string, signal: AbortSignal): Promise<Uint8Array>
  /** Replaces or creates a file atomically; keeps the mode of an existing file, follows a symlink, creates parents. */
  writeFile(path: string, data: Uint8Array, signal: AbortSignal): Promise<void>
  remove(path: string, signal: AbortSignal): Promise<void>
  /** Stores a text outside the working directory, where commands can read it, and returns its path. Absent: any folder of this machine can be used. */
  keepText?(name: string, text: string, signal: AbortSignal): Promise<string>
  list(path: string, signal: AbortSignal): Promise<{ name: string; kind: FileStat['kind'] }[]>
}

export type WorkspaceSpec = {
  conversationId: ConversationId
  /** The user that the conversation belongs to. */
  owner: string
  workingDir: string
  /** Requests of owners with a lower epoch are refused once the first request of this one has reached the runner. */
  epoch: number
  /** The agent server of a remote workspace; absent or null: this machine. */
  remote?: RemoteWorkspace | null
  /**
   * Variables of every process that is started through this object, such as the user's git identity (interface.md, Settings
   * record); a request's own variables take precedence. Called for each process, so that a changed setting counts at once.
   */
  env?: () => Promise<Readonly<Record<string, string>>>
}

/** Opens workspaces; one per process, made in `compose.ts`. */
export interface Workspaces extends AsyncDisposable {
  /**
   * The workspace of one conversation. Creates the working directory; starts no process.
   * @throws RefusedPath for a working directory of this machine that the owner's requests may not reach
   */
  open(spec: WorkspaceSpec, signal: AbortSignal): Promise<Workspace>
  /**
   * Ends every process of a conversation that is not open here (deletion), also those on another server. Starts no runner for it.
   */
  release(conversationId: ConversationId, remote?: RemoteWorkspace | null): Promise<void>
  /**
   * Removes the output of these calls, which may hold secrets, because it is stored elsewhere. Does not wait.
   * Absent: no output is kept.
   */
  forget?(conversationId: ConversationId, callIds: readonly string[]): void
  /** Checkpoints of the files of workspaces on this machine. Absent: no workspace has any. */
  readonly checkpoints?: Checkpoints
}
