/**
 * The tool gateway: the only way to a tool. `prepareCall` before a call is stored, `execute` after. Nothing else in the server
 * calls a tool.
 *
 * Invariants
 *   G1. Every failure of a tool becomes a result that the model can read. An abort is thrown, and so is an outage of the store, after which
 *       the call is recovered.
 *   G2. A call runs under the locks that it declares, and ends within its time limit.
 *   G3. An analyzer that fails counts as HIGH; without an analyzer the risk is UNKNOWN. Source: agent-core.md 1.10.
 *   G4. A call begins, and is looked for after a restart, only while this process may begin effects (`confirm`).
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
} from '@parley/protocol'
import { AGENT_ERROR, INTERNAL_ERROR, newEventId, ParleyError, readsPrediction } from '@parley/protocol'
import { z } from 'zod'
import type { Log } from '../agent.ts'
import { abortable, isStoreUnavailable, timeLimit } from '../../lib/index.ts'
import type { ToolCallEnd } from '../../observability/index.ts'
import type { LedgerEntry, Workspace } from '../../workspace/index.ts'
import type { Analyze, AnalyzedCall, Assessment } from '../../security/index.ts'
import {
  LockTimeout,
  type Locks,
  type Recovery,
  type Tool,
  type ToolContext,
  type ToolServices,
} from '../../tools/index.ts'
import { analyzedCall, analysisUsage, FAILED_ANALYSIS } from './analyzed-call.ts'
import { cutCall, isKnownCall, normaliseCall, type InvalidCall, type RawCall } from './normalise-call.ts'
import type { AnswerContext, PreparedCall } from './prepared-call.ts'
import { truncateMiddle } from '../truncate.ts'

const CALL_LIMIT_MS = 3_600_000
const LIMIT_MARGIN_MS = 60_000
/** Milliseconds that aborted calls have to end. */
const ENDING_MS = 5000
/** Stored characters of each text of an observation. */
const MAX_STORED_CHARS = 1024 * 1024

type HookedCall = { action_id: EventId; tool_name: string; action: Action }
/** Hooks before and after a call. Their `drafts` record that they ran; they are stored before the call or the result. */
export type ToolHooks = {
  /** `blocked`: the reason why the call must not be executed; null when it may be. */
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

export type ToolGatewayDeps = {
  conversationId: ConversationId
  tools: ReadonlyMap<string, Tool>
  workspace: Workspace
  dataDir: string
  locks: Locks
  /** Resolves when this process may begin an effect. */
  confirm: (signal: AbortSignal) => Promise<void>
  log: Log
  /** Values of the secrets that a text names, for the environment of one command. */
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** Services of the server that tools use. */
  services?: ToolServices
  /** Absent: every risk is UNKNOWN. */
  analyze?: Analyze
  /** Absent: every call is allowed. */
  hooks?: ToolHooks
  /** Called when a tool has ended or was given up; not for calls that are refused or held. */
  onCallEnd?: (call: ToolCallEnd) => void
  /** Time limit of a call in milliseconds, unless the call itself names a longer one. Default: an hour. */
  callLimitMs?: number
}

/** The outcome of a call. `drafts` record that hooks ran; they are stored before the result (F32). */
export type CallOutcome =
  | { kind: 'observation'; observation: Observation; drafts: Draft[] }
  | { kind: 'error'; error: string; classification: ErrorClassification }

/** A call that has not begun, because a person has to decide first. */
export type HeldCall = { kind: 'held' }

/** The decision about a stored call without a result: execute it, or close it as unknown. */
export type RecoveryDecision = Exclude<Recovery, { kind: 'done' }>

export class ToolGateway {
  readonly #deps: ToolGatewayDeps
  /** Calls that have not ended, including those that exceeded their time limit. */
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(deps: ToolGatewayDeps) {
    this.#deps = deps
  }

  /** Normalises a call and runs the hooks before it. The call has no effect yet, and its risk is UNKNOWN until `assess`. */
  async prepareCall(raw: RawCall, state: ConversationState, signal: AbortSignal): Promise<PreparedCall | InvalidCall> {
    const { tools, hooks } = this.#deps
    const normalised = normaliseCall(raw, tools, { usesRisk: readsPrediction(state.security_analyzer) })
    if (normalised.kind === 'invalid') return normalised
    const { action, tool } = normalised
    const id = newEventId()
    const hooked = await hooks?.before({ action_id: id, tool_name: tool.name, action }, state, signal)
    return {
      ...normalised,
      id,
      risk: 'UNKNOWN',
      reasons: [],
      blocked: hooked?.blocked ?? null,
      drafts: hooked?.drafts ?? [],
    }
  }

  /** Returns whether a call by this name reaches a tool. */
  knows(name: string, args: Record<string, unknown>): boolean {
    return isKnownCall(name, args, this.#deps.tools)
  }

  /** Refuses a call whose arguments are incomplete. */
  refuseCut(raw: RawCall, error: string): InvalidCall {
    return cutCall(raw, this.#deps.tools, error)
  }

  /**
   * Returns the calls of one answer with their risks; all are analyzed at the same time. A call that a hook blocked is not
   * analyzed (F44), nor is a lone finish or think, which changes nothing.
   */
  async assess(
    batch: readonly PreparedCall[],
    answer: AnswerContext,
    state: ConversationState,
    signal: AbortSignal,
  ): Promise<PreparedCall[]> {
    const { analyze, workspace } = this.#deps
    const record = state.security_analyzer
    if (analyze === undefined || record === null) return [...batch]
    const calls = batch.map((prepared, index) => analyzedCall(prepared, index === 0 ? answer : null))
    // A copy, because the branch grows while an analyzer reads it.
    const history = [...answer.history]
    const assessed = batch.map(async (prepared, index): Promise<PreparedCall> => {
      const call = calls[index]!
      if (prepared.blocked !== null) return prepared
      if (batch.length === 1 && isHarmless(prepared.action)) return { ...prepared, risk: 'LOW' }
      const context = { history, earlier: calls.slice(0, index), working_dir: workspace.workingDir }
      const { risk, costs, reasons } = await this.#analysis(call, (own) => analyze(record, call, context, own), signal)
      return { ...prepared, risk, reasons, drafts: [...prepared.drafts, ...costs.map(analysisUsage)] }
    })
    return Promise.all(assessed)
  }

  /**
   * Executes a stored action for the first time. `mayBegin` is asked when the call has its locks; without its consent the call is
   * held, and nothing has happened. @throws the signal's reason when aborted.
   */
  async execute(
    event: ActionEvent,
    state: ConversationState,
    signal: AbortSignal,
    mayBegin: () => boolean,
  ): Promise<CallOutcome | HeldCall> {
    try {
      return await this.#call(event, state, signal, mayBegin)
    } catch (error) {
      if (error instanceof CallHeld) return { kind: 'held' }
      throw error
    }
  }

  /** Executes an action without a further question, or attaches to its execution. @throws the signal's reason when aborted. */
  perform(event: ActionEvent, state: ConversationState, signal: AbortSignal): Promise<CallOutcome> {
    return this.#call(event, state, signal, () => true)
  }

  /** The server and schema behind a tool that another server provides; undefined for own and unknown tools. */
  originOf(name: string): string | undefined {
    return this.#deps.tools.get(name)?.origin
  }

  async #call(
    event: ActionEvent,
    state: ConversationState,
    signal: AbortSignal,
    mayBegin: () => boolean,
  ): Promise<CallOutcome> {
    const { tools, log } = this.#deps
    const tool = tools.get(event.tool_name)
    if (tool === undefined || event.action === null) return unknownTool(event.tool_name, tools)
    try {
      const observation = await this.#run(tool, event, event.action, signal, mayBegin)
      return await this.#finished(event, event.action, bounded(observation), state, signal)
    } catch (error) {
      if (signal.aborted || error instanceof CallHeld || isStoreUnavailable(error)) throw error
      if (!isArgumentError(error) && !isExpected(error)) {
        log.error({ action_id: event.id, tool: tool.name, err: error }, 'tool failed')
      }
      const message = error instanceof Error ? error.message : String(error)
      const classification = isArgumentError(error) ? AGENT_ERROR : INTERNAL_ERROR
      return { kind: 'error', error: `Error executing tool '${tool.name}': ${message}`, classification }
    }
  }

  /** Decides about an action that was open when the process before this one died; returns its outcome if that is known. */
  async recover(
    event: ActionEvent,
    ledger: LedgerEntry,
    state: ConversationState,
    signal: AbortSignal,
  ): Promise<RecoveryDecision | CallOutcome> {
    const { tools, log } = this.#deps
    const tool = tools.get(event.tool_name)
    if (tool === undefined || event.action === null) return unknownTool(event.tool_name, tools)
    try {
      await this.#deps.confirm(signal)
      const recovery = await tool.recover(event, ledger, this.#context(event, signal))
      if (recovery.kind !== 'done') return recovery
      return await this.#finished(event, event.action, bounded(recovery.observation), state, signal)
    } catch (error) {
      if (signal.aborted || isStoreUnavailable(error)) throw error
      log.error({ action_id: event.id, tool: tool.name, err: error }, 'recovery of a call failed')
      return { kind: 'unknown' }
    }
  }

  async #run(
    tool: Tool,
    event: ActionEvent,
    action: Action,
    signal: AbortSignal,
    mayBegin: () => boolean,
  ): Promise<Observation> {
    const { workspace, locks, confirm, conversationId, callLimitMs = CALL_LIMIT_MS, onCallEnd } = this.#deps
    const keys = tool.resources(action, workspace) ?? [`tool:${tool.name}`]
    // Locks on files are shared by all conversations in the directory; shells belong to one conversation (F68).
    const scoped = keys.map((key) => (key.startsWith('terminal:') ? `${key}@${conversationId}` : key))
    const held = await locks.acquire(workspace.workingDir, scoped, signal)
    try {
      await confirm(signal)
      if (!mayBegin()) throw new CallHeld('a person has to decide first')
    } catch (error) {
      held[Symbol.dispose]()
      throw error
    }
    const limitMs = tool.limitMs ?? Math.max(callLimitMs, ownLimitMs(action))
    const limit = new AbortController()
    using _timer = timeLimit(limitMs, () => limit.abort(new CallTimeout(limitMs)))
    // The locks are held until the tool has ended, also after its time limit.
    const work = async (): Promise<Observation> => {
      using _held = held
      return await tool.execute(action, this.#context(event, AbortSignal.any([signal, limit.signal])))
    }
    const from = performance.now()
    const running = work()
    this.#underWay.add(running)
    void Promise.allSettled([running]).then(() => this.#underWay.delete(running))
    const ended = (outcome: ToolCallEnd['outcome']) =>
      onCallEnd?.({ tool: tool.name, seconds: (performance.now() - from) / 1000, outcome })
    try {
      const observation = await abortable(running, limit.signal)
      ended(observation.is_error ? 'error' : 'ok')
      return observation
    } catch (error) {
      ended(signal.aborted ? 'cancelled' : 'error')
      throw error
    }
  }

  /**
   * Resolves when every call has ended, at the latest after five seconds. Callers wait for it before they close the agent or
   * delete its files, which the calls use. Aborts no call itself.
   */
  async ended(): Promise<void> {
    if (this.#underWay.size === 0) return
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), ENDING_MS)
    try {
      await abortable(Promise.allSettled(this.#underWay), late.signal)
    } catch {
      this.#deps.log.warn({ calls: this.#underWay.size }, 'calls still running when their agent was closed')
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
  ): Promise<CallOutcome> {
    const { hooks, log } = this.#deps
    try {
      const after = await hooks?.after({ action_id: id, tool_name, action }, observation, state, signal)
      return { kind: 'observation', observation, drafts: after?.drafts ?? [] }
    } catch (error) {
      if (signal.aborted) throw error
      // The call took effect; a failed hook after it cannot undo that.
      log.warn({ action_id: id, err: error }, 'hook after a tool call failed')
      return { kind: 'observation', observation, drafts: [] }
    }
  }

  async #analysis(
    call: AnalyzedCall,
    analyze: (signal: AbortSignal) => Promise<Assessment>,
    signal: AbortSignal,
  ): Promise<Assessment> {
    try {
      return await abortable(analyze(signal), signal)
    } catch (error) {
      if (signal.aborted) throw error
      this.#deps.log.warn(
        { action_id: call.action_id, err: error },
        'security analyzer failed; the risk counts as HIGH',
      )
      return FAILED_ANALYSIS
    }
  }
}

/** Thrown by a call that may not begin. */
class CallHeld extends Error {}

class CallTimeout extends Error {
  constructor(limitMs: number) {
    super(`it did not end within ${limitMs / 1000} s and was given up; its effect is not known`)
    this.name = 'CallTimeout'
  }
}

function unknownTool(name: string, tools: ReadonlyMap<string, Tool>): CallOutcome {
  const error = `Tool '${name}' not found. Available: [${[...tools.keys()].join(', ')}]`
  return { kind: 'error', error, classification: AGENT_ERROR }
}

/** Returns whether an action only says something. Source: agent-core.md 1.10. */
export const isHarmless = (action: Action): boolean => action.kind === 'FinishAction' || action.kind === 'ThinkAction'

const isArgumentError = (error: unknown): boolean =>
  error instanceof z.ZodError || (error instanceof ParleyError && error.code === 'invalid_input')

/** True for an end of a call that is no fault of the server: a limit of time, or of the processes of its user. */
const isExpected = (error: unknown): boolean =>
  error instanceof LockTimeout ||
  error instanceof CallTimeout ||
  (error instanceof ParleyError && error.code === 'rate_limited')

/** Milliseconds that the action itself allows, such as the `timeout` of a command, plus a margin for reporting the timeout. */
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
