/** The interface of a tool: its schema, and the execution and recovery of its calls. */
import type { Action, ActionEvent, ConversationId, Observation, ToolDefinition } from '@parley/protocol'
import type { LedgerEntry, Workspace } from '../workspace/index.ts'
import type { ToolServices } from './services.ts'

/** Context of one call, created by the tool gateway. */
export type ToolContext = {
  conversationId: ConversationId
  /** The id of the ActionEvent: the idempotency key of every effect of the call. */
  callId: string
  workspace: Workspace
  /** A folder that belongs to this conversation, outside the workspace; created when first used. */
  dataDir: string
  /** Returns the secrets that a text names, for the environment of one command. */
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** An absent member: the agent does not have this service. */
  services?: ToolServices
  signal: AbortSignal
}

/** The longest time of a timer, for calls with a limit of their own. */
export const UNLIMITED_MS = 2 ** 31 - 1

/**
 * The recovery of a call that was recorded before the process died.
 * `execute`: it had no effect, or can be repeated safely, or the workspace attaches to the running call: execute it
 * (again).
 * `done`: it took effect; this is its result. `unknown`: its effect is unknown; it is closed as such and never
 * repeated.
 */
export type Recovery = { kind: 'execute' } | { kind: 'done'; observation: Observation } | { kind: 'unknown' }

/** The recovery of a call whose beginning would be on record: an absent call is executed, an unknown one is not. */
export const unlessUnknown = ({ state }: LedgerEntry): Recovery => ({
  kind: state === 'unknown' ? 'unknown' : 'execute',
})

export interface Tool {
  /** Name for the model. */
  readonly name: string
  /** Definition in a SystemPromptEvent (agent-server-wire.md 4.5). */
  readonly definition: ToolDefinition
  /** JSON Schema of the arguments, without the added `security_risk` and `summary`. */
  readonly parameters: Record<string, unknown>
  /** For models that call it with one text instead of JSON: the parameter that has it, its form as a Lark grammar, and the description. */
  readonly freeform?: { parameter: string; grammar: string; description: string }
  /** Identifies the server and the schema behind a tool that another server provides; absent for own tools. */
  readonly origin?: string
  /** True when no call of the tool changes anything. */
  readonly isReadOnly: boolean
  /**
   * Converts arguments, repaired by the gateway, to an action.
   * @throws z.ZodError or ParleyError `invalid_input`; becomes an AgentErrorEvent, never a crash.
   */
  parse(args: Record<string, unknown>): Action
  /** Returns commands that a call would run besides its arguments, for the security analysis. Absent: none. */
  impliedCommands?(action: Action): readonly string[]
  /** Keys to lock during the call; null: the tool as a whole (`tool:<name>`). Reference: agent-core.md 1.11. */
  resources(action: Action, workspace: Workspace): readonly string[] | null
  /** Milliseconds of a call; absent: the default limit. */
  readonly limitMs?: number
  /** Executes a call. Throws only for bugs and aborts; a failing command is an observation with `is_error`. */
  execute(action: Action, context: ToolContext): Promise<Observation>
  /** Decides from the ledger and the tool's own notes. Pure. */
  recover(event: ActionEvent, ledger: LedgerEntry, context: ToolContext): Promise<Recovery>
  [Symbol.asyncDispose]?(): Promise<void>
}
