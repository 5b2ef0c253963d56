/**
 * The one way to any tool: `judge` before a call is recorded, `perform` after. Nothing else in the server calls a tool.
 *
 * Invariants
 *   G1. Whatever a tool does wrong becomes an answer the model can read; only an abort is thrown.
 *   G2. A call performs under the locks it declares, and ends within its limit.
 *   G3. An analyzer that fails counts as HIGH; without one the risk is UNKNOWN. Source: agent-core.md 1.10.
 */
import type {
  Action,
  ActionEvent,
  ConversationId,
  ConversationState,
  Draft,
  ErrorClassification,
  EventId,
  Observation,
  SecurityRisk,
  TreeEvent,
} from '@parley/protocol'
import { newEventId, ParleyError } from '@parley/protocol'
import { z } from 'zod'
import { abortable } from '../lib/index.ts'
import type { LedgerEntry, Workspace } from '../workspace/index.ts'
import type { Analyze, AnalyzedCall, Assessment } from '../security/index.ts'
import {
  LockTimeout,
  type Locks,
  type Recovery,
  type Tool,
  type ToolContext,
  type ToolServices,
} from '../tools/index.ts'
import { analyzedCall, analysisUsage } from './native/analysis.ts'
import { prepareCall, type InvalidCall, type PreparedCall, type RawCall } from './native/tool-call.ts'
import { truncateMiddle } from './native/truncate.ts'

const CALL_LIMIT_MS = 3_600_000
const LIMIT_MARGIN_MS = 60_000
/** Time for calls that were called off to end what they are at. */
const ENDING_MS = 5000
/** Characters of one text of an observation that are stored. */
const MAX_STORED_CHARS = 1024 * 1024

export type HookedCall = { action_id: EventId; tool_name: string; action: Action }
/** Hooks before and after a call; `drafts` record that they ran and are stored before what they concern. */
export type ToolHooks = {
  /** `blocked`: why the call must not be performed. */
  before(
    call: HookedCall,
    state: ConversationState,
    signal: AbortSignal,
  ): Promise<{ blocked: string | null; drafts: Draft[] }>
  after(
    call: HookedCall,
    observation: Observation,
    state: ConversationState,
    signal: AbortSignal,
  ): Promise<{ drafts: Draft[] }>
}

export type Log = {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type GatewayDeps = {
  conversationId: ConversationId
  tools: ReadonlyMap<string, Tool>
  workspace: Workspace
  dataDir: string
  locks: Locks
  log: Log
  /** The secrets that a text names, for the environment of one command. */
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** Handed to every call. */
  services?: ToolServices
  /** Absent: every risk is UNKNOWN. */
  analyze?: Analyze
  /** Absent: every call is allowed. */
  hooks?: ToolHooks
  /** Milliseconds that a call may take when it names no longer time itself. Default: an hour. */
  callLimitMs?: number
}

/** A call that may be recorded as an action under `id`. */
export type Judged = PreparedCall & { id: EventId; risk: SecurityRisk; blocked: string | null; drafts: Draft[] }

/** What came with the calls of one answer: its words, and the branch that it answers. */
export type Said = { text: string; reasoning: string | null; history: readonly TreeEvent[] }

/** How a call ended. `drafts` record that hooks ran, and are stored before its answer (F32). */
export type Outcome =
  | { kind: 'observation'; observation: Observation; drafts: Draft[] }
  | { kind: 'error'; error: string; classification: ErrorClassification }

/** A recorded call without a result: to be performed, or never to be. */
export type Undone = Exclude<Recovery, { kind: 'done' }>

const AGENT_ACTION: ErrorClassification = {
  kind: 'agent_action',
  retryable: true,
  user_action: 'retry',
  error_id: null,
}
const INTERNAL: ErrorClassification = { kind: 'internal', retryable: false, user_action: 'none', error_id: null }

export class Gateway {
  readonly #deps: GatewayDeps
  /** Calls that have not ended, also those that nobody waits for any more. */
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(deps: GatewayDeps) {
    this.#deps = deps
  }

  /** Normalises a call and asks the hooks. Nothing of it has happened yet, and its risk is still UNKNOWN: see `assess`. */
  async judge(raw: RawCall, state: ConversationState, signal: AbortSignal): Promise<Judged | InvalidCall> {
    const { tools, hooks } = this.#deps
    const prepared = prepareCall(raw, tools, { usesRisk: state.security_analyzer !== null })
    if (prepared.kind === 'invalid') return prepared
    const { action, tool } = prepared
    const id = newEventId()
    const verdict = await hooks?.before({ action_id: id, tool_name: tool.name, action }, state, signal)
    return { ...prepared, id, risk: 'UNKNOWN', blocked: verdict?.blocked ?? null, drafts: verdict?.drafts ?? [] }
  }

  /**
   * The calls of one answer with their risks, all asked about at the same time. What a hook has blocked is never performed
   * and not asked about (F44); nor is a lone finish or think, which changes nothing.
   */
  async assess(
    batch: readonly Judged[],
    answer: Said,
    state: ConversationState,
    signal: AbortSignal,
  ): Promise<Judged[]> {
    const { analyze, workspace } = this.#deps
    const record = state.security_analyzer
    if (analyze === undefined || record === null) return [...batch]
    const calls = batch.map((judged, index) => analyzedCall(judged, index === 0 ? answer : null))
    // The branch goes on growing while an analyzer reads it.
    const history = [...answer.history]
    const assessed = batch.map(async (judged, index): Promise<Judged> => {
      const call = calls[index]!
      if (judged.blocked !== null) return judged
      if (batch.length === 1 && isHarmless(judged.action)) return { ...judged, risk: 'LOW' }
      const context = { history, earlier: calls.slice(0, index), working_dir: workspace.workingDir }
      const { risk, spent } = await this.#ask(call, (asked) => analyze(record, call, context, asked), signal)
      return { ...judged, risk, drafts: [...judged.drafts, ...spent.map(analysisUsage)] }
    })
    return Promise.all(assessed)
  }

  /** Performs a recorded action. @throws the signal's reason when aborted. */
  async perform(event: ActionEvent, state: ConversationState, signal: AbortSignal): Promise<Outcome> {
    const { tools, log } = this.#deps
    const tool = tools.get(event.tool_name)
    if (tool === undefined || event.action === null) return unknownTool(event.tool_name, tools)
    try {
      const observation = await this.#run(tool, event, event.action, signal)
      return await this.#finished(event, event.action, bounded(observation), state, signal)
    } catch (error) {
      if (signal.aborted) throw error
      if (!isArgumentError(error) && !(error instanceof LockTimeout) && !(error instanceof CallTimeout)) {
        log.error({ action_id: event.id, tool: tool.name, err: error }, 'tool failed')
      }
      const message = error instanceof Error ? error.message : String(error)
      const classification = isArgumentError(error) ? AGENT_ACTION : INTERNAL
      return { kind: 'error', error: `Error executing tool '${tool.name}': ${message}`, classification }
    }
  }

  /** What to do about an action that was open when the process before this one died; its outcome, if that is known. */
  async recover(
    event: ActionEvent,
    ledger: LedgerEntry,
    state: ConversationState,
    signal: AbortSignal,
  ): Promise<Undone | Outcome> {
    const { tools, log } = this.#deps
    const tool = tools.get(event.tool_name)
    if (tool === undefined || event.action === null) return unknownTool(event.tool_name, tools)
    try {
      const recovery = await tool.recover(event, ledger, this.#context(event, signal))
      if (recovery.kind !== 'done') return recovery
      return await this.#finished(event, event.action, bounded(recovery.observation), state, signal)
    } catch (error) {
      if (signal.aborted) throw error
      log.error({ action_id: event.id, tool: tool.name, err: error }, 'recovery of a call failed')
      return { kind: 'unknown' }
    }
  }

  async #run(tool: Tool, event: ActionEvent, action: Action, signal: AbortSignal): Promise<Observation> {
    const { workspace, locks, conversationId, callLimitMs = CALL_LIMIT_MS } = this.#deps
    const keys = tool.resources(action, workspace) ?? [`tool:${tool.name}`]
    // Files belong to whoever works in the directory, shells to the conversation that opened them (F68).
    const scoped = keys.map((key) => (key.startsWith('terminal:') ? `${key}@${conversationId}` : key))
    const held = await locks.acquire(workspace.workingDir, scoped, signal)
    const limitMs = tool.limitMs ?? Math.max(callLimitMs, ownLimitMs(action))
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new CallTimeout(limitMs)), limitMs)
    // The locks are held until the tool has ended, also when nobody waits for it any more.
    const work = async (): Promise<Observation> => {
      using _held = held
      return await tool.perform(action, this.#context(event, AbortSignal.any([signal, limit.signal])))
    }
    const running = work()
    this.#underWay.add(running)
    void Promise.allSettled([running]).then(() => this.#underWay.delete(running))
    try {
      return await abortable(running, limit.signal)
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Resolves when every call has ended, and at the latest after five seconds: who closes an agent, or deletes what it has,
   * takes away what its calls work with. It calls off none of them itself.
   */
  async ended(): Promise<void> {
    if (this.#underWay.size === 0) return
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), ENDING_MS)
    try {
      await abortable(Promise.allSettled(this.#underWay), late.signal)
    } catch {
      this.#deps.log.warn({ calls: this.#underWay.size }, 'calls go on although their agent is closed')
    } finally {
      clearTimeout(timer)
    }
  }

  #context(event: ActionEvent, signal: AbortSignal): ToolContext {
    const { conversationId, workspace, dataDir, secretsFor, services = {} } = this.#deps
    return { conversationId, callId: event.id, workspace, dataDir, secretsFor, services, signal }
  }

  async #finished(
    { id, tool_name }: ActionEvent,
    action: Action,
    observation: Observation,
    state: ConversationState,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { hooks, log } = this.#deps
    try {
      const after = await hooks?.after({ action_id: id, tool_name, action }, observation, state, signal)
      return { kind: 'observation', observation, drafts: after?.drafts ?? [] }
    } catch (error) {
      if (signal.aborted) throw error
      // The call took effect; a hook that comes after it cannot undo that.
      log.warn({ action_id: id, err: error }, 'hook after a tool call failed')
      return { kind: 'observation', observation, drafts: [] }
    }
  }

  async #ask(
    call: AnalyzedCall,
    ask: (signal: AbortSignal) => Promise<Assessment>,
    signal: AbortSignal,
  ): Promise<Assessment> {
    try {
      return await abortable(ask(signal), signal)
    } catch (error) {
      if (signal.aborted) throw error
      this.#deps.log.warn(
        { action_id: call.action_id, err: error },
        'security analyzer failed; the risk counts as HIGH',
      )
      return { risk: 'HIGH', spent: [] }
    }
  }
}

class CallTimeout extends Error {
  constructor(limitMs: number) {
    super(`it did not end within ${limitMs / 1000} s and was given up; its effect is not known`)
    this.name = 'CallTimeout'
  }
}

function unknownTool(name: string, tools: ReadonlyMap<string, Tool>): Outcome {
  const error = `Tool '${name}' not found. Available: [${[...tools.keys()].join(', ')}]`
  return { kind: 'error', error, classification: AGENT_ACTION }
}

/** An action that only says something. Source: agent-core.md 1.10. */
export const isHarmless = (action: Action): boolean => action.kind === 'FinishAction' || action.kind === 'ThinkAction'

const isArgumentError = (error: unknown): boolean =>
  error instanceof z.ZodError || (error instanceof ParleyError && error.code === 'invalid_input')

/** Milliseconds that the action itself allows, such as the `timeout` of a command, and some to say so. */
function ownLimitMs(action: Action): number {
  return 'timeout' in action && typeof action.timeout === 'number' ? action.timeout * 1000 + LIMIT_MARGIN_MS : 0
}

function bounded(observation: Observation): Observation {
  const isTooLong = observation.content.some((item) => item.type === 'text' && item.text.length > MAX_STORED_CHARS)
  if (!isTooLong) return observation
  const content = observation.content.map((item) =>
    item.type === 'text' ? { ...item, text: truncateMiddle(item.text, MAX_STORED_CHARS) } : item,
  )
  return { ...observation, content }
}
