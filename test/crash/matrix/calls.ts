/** The calls that are open when a server ends: how each is made, how often it was executed, and what became of it. */
import { readFileSync } from 'node:fs'
import type { ScriptedToolCall } from '../../../packages/server/testing/scripted-model.ts'

/** An executor, and how far the call was. `waiting`: stored, not begun. */
export const CALLS = [
  'terminal-ended',
  'terminal-running',
  'terminal-waiting',
  'editor-ended',
  'editor-waiting',
  'bash-ended',
  'bash-running',
  'bash-waiting',
  'remote-ended',
  'remote-running',
  'remote-waiting',
  'remote-editor-ended',
  'remote-editor-waiting',
  'stdio-ended',
  'stdio-running',
  'stdio-waiting',
  'http-running',
  'http-waiting',
] as const
export type Call = (typeof CALLS)[number]

/** `result`: its own result. `unknown`: reported as unknown. Another text: an error that no row of the table expects. */
export type Seen = { outcome: string; executions: number }

export type Folders = {
  /** What the calls change. */
  work: string
  /** A command that waits ends when the file with its name exists here. */
  gates: string
}

/** Tools of the MCP servers; each call has one of its own, by which its executions are counted. */
const MCP_TOOLS: Partial<Record<Call, string>> = {
  'stdio-ended': 'say_kind',
  'stdio-running': 'wait',
  'stdio-waiting': 'where',
  'http-running': 'wait',
  'http-waiting': 'where',
}

const EXIT_CODE = 3

export const journalOf = (kind: 'stdio' | 'http', { work }: Folders): string => `${work}/${kind}.journal`
export const fileOf = (call: Call, { work }: Folders): string => `${work}/${call}.txt`

/** A command line that appends one line to the file of its call. */
export function commandOf(call: Call, { work, gates }: Folders): string {
  const waits = call.endsWith('-running') || call === 'bash-ended'
  return `echo x >>${work}/${call}; ${waits ? `until [ -e ${gates}/${call} ]; do sleep 0.05; done; ` : ''}(exit ${EXIT_CODE})`
}

const terminal = (call: Call, folders: Folders): ScriptedToolCall => ({
  id: call,
  name: 'terminal',
  arguments: { command: commandOf(call, folders) },
})

const edit = (call: Call, folders: Folders): ScriptedToolCall => ({
  id: call,
  name: 'file_editor',
  arguments: { command: 'insert', path: fileOf(call, folders), insert_line: 0, new_str: 'x' },
})

const mcp = (call: Call): ScriptedToolCall => {
  const name = MCP_TOOLS[call] ?? ''
  return {
    id: call,
    name: `${call.startsWith('http') ? 'web' : 'program'}_${name}`,
    arguments: name === 'say_kind' ? { kind: 'x' } : {},
  }
}

/**
 * The calls of a conversation in a local workspace, for three workers: two wait in a call of an MCP server, the third executes
 * what ends and then waits in a command. Results are stored in the order of the calls, so none is stored.
 */
export const localCalls = (folders: Folders): ScriptedToolCall[] => [
  mcp('http-running'),
  mcp('stdio-running'),
  mcp('stdio-ended'),
  terminal('terminal-ended', folders),
  edit('editor-ended', folders),
  terminal('terminal-running', folders),
  terminal('terminal-waiting', folders),
  edit('editor-waiting', folders),
  mcp('stdio-waiting'),
  mcp('http-waiting'),
]

/** The same for a remote workspace and two workers. The first call is not in the table: it keeps the others from being stored. */
export const remoteCalls = (folders: Folders): ScriptedToolCall[] => [
  { id: 'first', name: 'wait', arguments: {} },
  terminal('remote-ended', folders),
  edit('remote-editor-ended', folders),
  terminal('remote-running', folders),
  terminal('remote-waiting', folders),
  edit('remote-editor-waiting', folders),
]

/** Returns whether a call had begun when the server ended. */
export const executedBefore = (call: Call): boolean => !call.endsWith('-waiting')

/** How often a call was executed, from what it left behind. */
export function executions(call: Call, folders: Folders): number {
  const tool = MCP_TOOLS[call]
  if (tool !== undefined) return count(journalOf(call.startsWith('http') ? 'http' : 'stdio', folders), `called ${tool}`)
  return count(call.includes('editor') ? fileOf(call, folders) : `${folders.work}/${call}`, 'x')
}

function count(path: string, line: string): number {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((each) => each === line).length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

/** What a conversation recorded of a call. @throws Error unless it recorded exactly one result. */
export function outcomeIn(events: readonly any[], call: Call): string {
  const results = events.filter(
    ({ kind, tool_call_id }) => tool_call_id === call && (kind === 'ObservationEvent' || kind === 'AgentErrorEvent'),
  )
  if (results.length !== 1) throw new Error(`${call} has ${results.length} results`)
  const [{ error, observation }] = results
  if (error !== undefined) return isUnknown(error) ? 'unknown' : error
  const text = (observation.content as { text?: string }[]).map((part) => part.text ?? '').join('')
  if (isUnknown(text)) return 'unknown'
  const isRight =
    observation.kind === 'TerminalObservation' ? observation.exit_code === EXIT_CODE : observation.is_error === false
  return isRight ? 'result' : `${observation.kind} with exit code ${observation.exit_code}: ${text}`
}

/** What is stored of a command outside conversations. */
export function bashOutcome(outputs: readonly any[]): string {
  const last = outputs.find(({ exit_code }) => exit_code !== null)
  if (last?.exit_code === EXIT_CODE) return 'result'
  const text = String(last?.stderr)
  return isUnknown(text) ? 'unknown' : `exit code ${last?.exit_code}: ${text}`
}

const isUnknown = (text: string): boolean => /is not known|cannot be known|was not run again/.test(text)
