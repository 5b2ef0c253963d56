/**
 * Decides the agent's permission requests with hooks, analyzer and policy, like the calls of the native agent. Source: agent-core.md 11.7, F10.
 *
 * Invariants
 *   G1. A call that the policy sends to a person is allowed only after that person has approved it.
 *   G2. At most `limit` allowed calls run at the same time, as far as the agent reports when one starts and ends.
 */
import {
  needsConfirmation,
  type ConversationState,
  type Draft,
  type EventId,
  type SecurityRisk,
} from '@parley/protocol'
import { abortable } from '../../../lib/index.ts'
import type { AnalyzedCall, Analyze } from '../../../security/index.ts'
import type { StepContext } from '../../agent.ts'
import type { Log } from '../../agent.ts'
import type { ToolHooks } from '../../gateway/tool-gateway.ts'
import { analysisUsage } from '../../gateway/analyzed-call.ts'
import { CANCELLED } from '../process/connection.ts'
import {
  chooseOption,
  permissionAction,
  requestedCall,
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

/** `ask`: a person has to decide. `refused`: a hook blocked the call. */
export type PermissionDecision = {
  kind: 'allow' | 'ask' | 'refused'
  pending: PendingPermission
  call: RequestedCall
  risk: SecurityRisk
  drafts: Draft[]
}

export class PermissionGate {
  readonly #deps: PermissionGateDeps
  readonly #limit: number
  /** Requests that wait for a slot. */
  readonly #queue: PendingPermission[] = []
  /** Allowed calls by the agent's id, and when they were allowed. */
  readonly #running = new Map<string, { call: RequestedCall; since: number }>()
  /** Calls that wait for a person's decision. */
  readonly waiting = new Map<EventId, PermissionDecision>()

  constructor(limit: number, deps: PermissionGateDeps) {
    this.#limit = limit
    this.#deps = deps
  }

  add(pending: PendingPermission): void {
    this.#queue.push(pending)
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
    const call = requestedCall(pending.call)
    const state = turn.state()
    const { id, tool, action } = call
    const before = await hooks?.before({ action_id: id, tool_name: tool, action }, state, signal)
    const drafts = [...(before?.drafts ?? [])]
    if (before !== undefined && before.blocked !== null) {
      drafts.push(permissionAction(call, permissionId(id), 'UNKNOWN'), refusalDraft(call, before.blocked))
      return { kind: 'refused', pending, call, risk: 'UNKNOWN', drafts }
    }
    const { risk, drafts: usage } = await this.#assess(call, state, turn, signal)
    drafts.push(...usage)
    const kind = needsConfirmation(turn.state().confirmation_policy, risk) ? 'ask' : 'allow'
    return { kind, pending, call, risk, drafts }
  }

  allow({ pending, call }: PermissionDecision): void {
    this.waiting.delete(call.id)
    this.#running.set(call.callId, { call, since: performance.now() })
    pending.answer(chooseOption('allow', pending.request) ?? CANCELLED)
  }

  refuse({ pending, call }: PermissionDecision): void {
    this.waiting.delete(call.id)
    pending.answer(chooseOption('reject', pending.request) ?? CANCELLED)
  }

  /** Runs the hooks after an allowed call that has ended, and returns their drafts. */
  async afterCall(call: ToolCall, turn: StepContext, signal: AbortSignal): Promise<Draft[]> {
    const { hooks, log } = this.#deps
    const running = this.#running.get(call.id)
    if (running === undefined) return []
    this.#running.delete(call.id)
    const { id, tool, action } = running.call
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
  ): Promise<{ risk: SecurityRisk; drafts: Draft[] }> {
    const { analyze, workingDir, log } = this.#deps
    const record = state.security_analyzer
    if (analyze === undefined || record === null) return { risk: 'UNKNOWN', drafts: [] }
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
      const { risk, costs } = await abortable(analyze(record, analyzed, context, signal), signal)
      return { risk, drafts: costs.map(analysisUsage) }
    } catch (error) {
      if (signal.aborted) throw error
      log.warn({ action_id: call.id, err: error }, 'security analyzer failed; the risk counts as HIGH')
      return { risk: 'HIGH', drafts: [] }
    }
  }
}

/** Id of the batch that a person decides. No other batch has it, so that an answer to another batch does not count for this one. */
const permissionId = (id: EventId): string => `acp_permission_${id}`

/** Drafts that ask a person to decide these calls. */
export function confirmationDrafts(decisions: readonly PermissionDecision[]): Draft[] {
  const [first] = decisions
  if (first === undefined) return []
  const batch = permissionId(first.call.id)
  const actions = decisions.map(({ call, risk }) => ({ action_id: call.id, risk }))
  return [
    ...decisions.map(({ call, risk }) => permissionAction(call, batch, risk)),
    { kind: 'ConfirmationRequestedEvent', source: 'environment', llm_response_id: batch, actions },
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
