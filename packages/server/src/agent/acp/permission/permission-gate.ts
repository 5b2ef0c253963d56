/**
 * Decides the agent's permission requests with hooks, analyzer and policy, like the calls of the native agent. Source: agent-core.md 11.7, F10.
 *
 * Invariants
 *   G1. A request of which the policy sends any part to a person is allowed only after that person has approved all of its parts.
 *   G2. At most `limit` allowed calls run at the same time, as far as the agent reports when one starts and ends.
 */
import {
  needsConfirmation,
  type ConversationState,
  type Draft,
  type EventId,
  type RiskReason,
  type SecurityRisk,
} from '@parley/protocol'
import { abortable } from '../../../lib/index.ts'
import type { AnalyzedCall, Analyze } from '../../../security/index.ts'
import type { StepContext } from '../../agent.ts'
import type { Log } from '../../agent.ts'
import type { ToolHooks } from '../../gateway/tool-gateway.ts'
import { analysisUsage, FAILED_ANALYSIS } from '../../gateway/analyzed-call.ts'
import { CANCELLED } from '../process/connection.ts'
import {
  chooseOption,
  permissionAction,
  requestedCalls,
  resultObservation,
  type PendingPermission,
  type RequestedCall,
} from './permission.ts'
import { isOver, type ToolCall, type ToolCalls } from '../tool-calls.ts'

/** Milliseconds after which an allowed call that has not started loses its slot: some agents start none until all are decided. */
export const SLOT_MS = 2000

export type PermissionGateDeps = {
  workingDir: string
  analyze?: Analyze
  hooks?: ToolHooks
  log: Log
}

/** `ask`: a person has to decide. `refused`: a hook blocked a part of the request. */
export type PermissionDecision = {
  kind: 'allow' | 'ask' | 'refused'
  pending: PendingPermission
  /** All parts of the request, which are decided together. */
  calls: readonly AssessedCall[]
  drafts: Draft[]
}

type AssessedCall = { call: RequestedCall; risk: SecurityRisk; reasons: readonly RiskReason[] }

export class PermissionGate {
  readonly #deps: PermissionGateDeps
  readonly #limit: number
  /** Requests that wait for a slot. */
  readonly #queue: PendingPermission[] = []
  /** Allowed requests by the agent's id of the call, and when they were allowed. */
  readonly #running = new Map<string, { calls: readonly AssessedCall[]; since: number }>()
  /** Parts of requests that wait for a person's decision. */
  readonly #waiting = new Map<EventId, PermissionDecision>()

  constructor(limit: number, deps: PermissionGateDeps) {
    this.#limit = limit
    this.#deps = deps
  }

  add(pending: PendingPermission): void {
    this.#queue.push(pending)
  }

  /** Requests that wait for a person's decision. */
  get waiting(): ReadonlySet<PermissionDecision> {
    return new Set(this.#waiting.values())
  }

  /** The request that an action is a part of, while it waits for a decision. */
  waitingFor(action: EventId): PermissionDecision | undefined {
    return this.#waiting.get(action)
  }

  /** The request waits for a person. */
  ask(decision: PermissionDecision): void {
    for (const { call } of decision.calls) this.#waiting.set(call.id, decision)
  }

  /** True when requests wait for a slot. */
  get hasQueued(): boolean {
    return this.#queue.length > 0
  }

  /** Takes from the queue the requests that have a slot now. */
  admit(calls: ToolCalls): PendingPermission[] {
    const now = performance.now()
    for (const [id, { since }] of this.#running) {
      const call = calls.get(id)
      const hasStarted = call?.status === 'in_progress'
      if (call !== undefined && isOver(call)) this.#running.delete(id)
      else if (!hasStarted && now - since >= SLOT_MS && this.#queue.length > 0) this.#running.delete(id)
    }
    return this.#queue.splice(0, Math.max(0, this.#limit - this.#running.size - this.waiting.size))
  }

  async decide(pending: PendingPermission, turn: StepContext, signal: AbortSignal): Promise<PermissionDecision> {
    const { hooks } = this.#deps
    const { calls, isMixed } = requestedCalls(pending.call)
    const state = turn.state()
    const drafts: Draft[] = []
    for (const { id, tool, action } of calls) {
      const before = await hooks?.before({ action_id: id, tool_name: tool, action }, state, signal)
      drafts.push(...(before?.drafts ?? []))
      if (before === undefined || before.blocked === null) continue
      drafts.push(...blockedDrafts(calls, id, before.blocked))
      return { kind: 'refused', pending, calls: calls.map((call) => ({ call, risk: 'UNKNOWN', reasons: [] })), drafts }
    }
    const assessed: AssessedCall[] = []
    for (const call of calls) {
      const { risk, reasons, drafts: usage } = await this.#assess(call, state, turn, signal)
      drafts.push(...usage)
      // A request that looks like an edit and also runs something is suspicious, whatever its parts are.
      assessed.push({ call, risk: isMixed ? 'HIGH' : risk, reasons })
    }
    const policy = turn.state().confirmation_policy
    const kind = assessed.some(({ risk }) => needsConfirmation(policy, risk)) ? 'ask' : 'allow'
    return { kind, pending, calls: assessed, drafts }
  }

  allow({ pending, calls }: PermissionDecision): void {
    this.#settle(calls)
    this.#running.set(pending.call.id, { calls, since: performance.now() })
    pending.answer(chooseOption('allow', pending.request) ?? CANCELLED)
  }

  refuse({ pending, calls }: PermissionDecision): void {
    this.#settle(calls)
    pending.answer(chooseOption('reject', pending.request) ?? CANCELLED)
  }

  #settle(calls: readonly AssessedCall[]): void {
    for (const { call } of calls) this.#waiting.delete(call.id)
  }

  /** Runs the hooks after an allowed call that has ended, for each of its parts, and returns their drafts. */
  async afterCall(call: ToolCall, turn: StepContext, signal: AbortSignal): Promise<Draft[]> {
    const running = this.#running.get(call.id)
    if (running === undefined) return []
    this.#running.delete(call.id)
    const drafts: Draft[] = []
    for (const part of running.calls) drafts.push(...(await this.#afterPart(part.call, call, turn, signal)))
    return drafts
  }

  async #afterPart(
    { id, tool, action }: RequestedCall,
    call: ToolCall,
    turn: StepContext,
    signal: AbortSignal,
  ): Promise<readonly Draft[]> {
    const { hooks, log } = this.#deps
    try {
      const after = await hooks?.after(
        { action_id: id, tool_name: tool, action },
        resultObservation(action, tool, call),
        turn.state(),
        signal,
      )
      return after?.drafts ?? []
    } catch (error) {
      if (signal.aborted) throw error
      log.warn({ action_id: id, err: error }, 'hook after a call of the external agent failed')
      return []
    }
  }

  async #assess(
    call: RequestedCall,
    state: ConversationState,
    turn: StepContext,
    signal: AbortSignal,
  ): Promise<{ risk: SecurityRisk; reasons: readonly RiskReason[]; drafts: Draft[] }> {
    const { analyze, workingDir, log } = this.#deps
    const record = state.security_analyzer
    if (analyze === undefined || record === null) return { risk: 'UNKNOWN', reasons: [], drafts: [] }
    const analyzed: AnalyzedCall = {
      action_id: call.id,
      tool_name: call.tool,
      action: call.action,
      tool_call: call.toolCall,
      own_fields: [],
      predicted_risk: 'UNKNOWN',
      summary: call.summary,
      thought: '',
      reasoning: null,
      is_read_only: false,
    }
    try {
      const context = { history: [...turn.view()], earlier: [], working_dir: workingDir }
      const { risk, costs, reasons } = await abortable(analyze(record, analyzed, context, signal), signal)
      return { risk, reasons, drafts: costs.map(analysisUsage) }
    } catch (error) {
      if (signal.aborted) throw error
      log.warn({ action_id: call.id, err: error }, 'security analyzer failed; the risk counts as HIGH')
      return { ...FAILED_ANALYSIS, drafts: [] }
    }
  }
}

/** Id of the batch that a person decides. No other batch has it, so that an answer to another batch does not count for this one. */
const permissionId = (id: EventId): string => `acp_permission_${id}`

/** Drafts that ask a person to decide these calls. */
export function confirmationDrafts(decisions: readonly PermissionDecision[]): Draft[] {
  if (decisions.length === 0) return []
  const parts = decisions.flatMap(({ calls }) => calls)
  const batch = permissionId(parts[0]!.call.id)
  const actions = parts.map(({ call, risk, reasons }) => ({
    action_id: call.id,
    risk,
    ...(reasons.length === 0 ? {} : { reasons: [...reasons] }),
  }))
  return [
    ...parts.map(({ call, risk }) => permissionAction(call, batch, risk)),
    { kind: 'ConfirmationRequestedEvent', source: 'environment', llm_response_id: batch, actions },
  ]
}

/** All parts of a request of which a hook blocked one. */
function blockedDrafts(calls: readonly RequestedCall[], blocked: EventId, reason: string): Draft[] {
  const batch = permissionId(calls[0]!.id)
  const other = `Another part of the same request was blocked: ${reason}`
  return [
    ...calls.map((call) => permissionAction(call, batch, 'UNKNOWN')),
    ...calls.map((call) => refusalDraft(call, call.id === blocked ? reason : other)),
  ]
}

const refusalDraft = ({ id, tool, callId }: RequestedCall, reason: string): Draft => ({
  kind: 'UserRejectObservation',
  source: 'environment',
  tool_name: tool,
  tool_call_id: callId,
  rejection_reason: reason,
  rejection_source: 'hook',
  action_id: id,
})
