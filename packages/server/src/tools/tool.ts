/** What the agent can do: one tool, its schema, and how a call is performed. */
import type { Action, ActionEvent, ConversationId, Observation, ToolDefinition } from '@parley/protocol'
import type { LedgerEntry, Workspace } from '../workspace/index.ts'
import type { ToolServices } from './services.ts'

/** What a call may touch. Made by the gateway for one call. */
export type ToolContext = {
  conversationId: ConversationId
  /** The id of the ActionEvent: the idempotency key of every effect of the call. */
  callId: string
  workspace: Workspace
  /** A folder that belongs to this conversation, outside the workspace; created when first used. */
  dataDir: string
  /** The secrets that this text names, for the environment of one command. */
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** Absent members: this agent has no such thing. */
  services?: ToolServices
  signal: AbortSignal
}

/** As long as a timer can wait: for calls that others bound. */
export const UNLIMITED_MS = 2 ** 31 - 1

/**
 * What to do about a call that was recorded before the process died.
 * `perform`: it never took effect, or repeating it has none, or the workspace attaches to what still runs: perform it (again).
 * `done`: it took effect; this is its result. `unknown`: nobody can know; it is closed as such and never repeated.
 */
export type Recovery = { kind: 'perform' } | { kind: 'done'; observation: Observation } | { kind: 'unknown' }

export interface Tool {
  /** The name the model uses. */
  readonly name: string
  /** As it stands in a SystemPromptEvent (reference/agent-server-wire.md 4.5). */
  readonly definition: ToolDefinition
  /** JSON Schema of the arguments, without the added `security_risk` and `summary`. */
  readonly parameters: Record<string, unknown>
  /** True when a call can change nothing. */
  readonly isReadOnly: boolean
  /**
   * Arguments, repaired by the gateway, to an action.
   * @throws z.ZodError or ParleyError `invalid_input`; becomes an AgentErrorEvent, never a crash.
   */
  parse(args: Record<string, unknown>): Action
  /** What a call would run beside what its arguments say; an analyzer looks at it too. Absent: nothing. */
  executes?(action: Action): readonly string[]
  /** Keys to lock while it runs; null: the tool as a whole (`tool:<name>`). Reference: agent-core.md 1.11. */
  resources(action: Action, workspace: Workspace): readonly string[] | null
  /** Milliseconds that a call may take; absent: as long as any other. */
  readonly limitMs?: number
  /** Performs it. Throws only for bugs and aborts; a failing command is an observation with `is_error`. */
  perform(action: Action, context: ToolContext): Promise<Observation>
  /** Pure decision from what the ledger and the tool's own notes say. */
  recover(event: ActionEvent, ledger: LedgerEntry, context: ToolContext): Promise<Recovery>
  [Symbol.asyncDispose]?(): Promise<void>
}
