/**
 * Decides what the agent asks permission for: hooks, analyzer and policy, as for a call of our own agent. Source: agent-core.md 11.7, F10.
 *
 * Invariants
 *   G1. Nothing is allowed that the policy wants a person to see, unless that person has allowed it.
 *   G2. At most `limit` allowed calls go on at the same time, as far as the agent says when one begins and ends.
 */
import {
  needsConfirmation,
  type ConversationState,
  type Draft,
  type EventId,
  type SecurityRisk,
} from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import type { AnalyzedCall, Analyze } from '../../security/index.ts'
import type { Turn } from '../agent.ts'
import type { Log, ToolHooks } from '../gateway.ts'
import { analysisUsage } from '../native/analysis.ts'
import { CANCELLED, choose, observed, permissionAction, type WantedCall, wantedCall } from './permission.ts'
import { isOver, type ToolCall, type ToolCalls } from './tool-calls.ts'
import type { Asking } from './turn.ts'

/** Milliseconds after which an allowed call that has not begun gives its place away: some agents begin none until all are decided. */
export const PLACE_MS = 2000

export type GateDeps = {
  workingDir: string
  analyze?: Analyze
  hooks?: ToolHooks
  log: Log
}

/** `ask`: a person has to decide. `refused`: a hook has. */
export type Verdict = {
  kind: 'allow' | 'ask' | 'refused'
  asking: Asking
  wanted: WantedCall
  risk: SecurityRisk
  drafts: Draft[]
}

export class Gate {
  readonly #deps: GateDeps
  readonly #limit: number
  /** Waits for a place. */
  readonly #queue: Asking[] = []
  /** Allowed calls by the agent's id, and when they were allowed. */
  readonly #going = new Map<string, { wanted: WantedCall; since: number }>()
  /** Calls that a person is asked about. */
  readonly waiting = new Map<EventId, Verdict>()

  constructor(limit: number, deps: GateDeps) {
    this.#limit = limit
    this.#deps = deps
  }

  add(asking: Asking): void {
    this.#queue.push(asking)
  }

  /** Whether a request waits for a place only. */
  get isCrowded(): boolean {
    return this.#queue.length > 0
  }

  /** The requests that have a place now. */
  admit(calls: ToolCalls): Asking[] {
    const now = performance.now()
    for (const [id, { since }] of this.#going) {
      const call = calls.get(id)
      const hasBegun = call?.status === 'in_progress'
      if (call !== undefined && isOver(call)) this.#going.delete(id)
      else if (!hasBegun && now - since >= PLACE_MS && this.#queue.length > 0) this.#going.delete(id)
    }
    return this.#queue.splice(0, Math.max(0, this.#limit - this.#going.size - this.waiting.size))
  }

  async judge(asking: Asking, turn: Turn, signal: AbortSignal): Promise<Verdict> {
    const { hooks } = this.#deps
    const wanted = wantedCall(asking.call)
    const state = turn.state()
    const { id, tool, action } = wanted
    const before = await hooks?.before({ action_id: id, tool_name: tool, action }, state, signal)
    const drafts = [...(before?.drafts ?? [])]
    if (before !== undefined && before.blocked !== null) {
      drafts.push(permissionAction(wanted, permissionId(id), 'UNKNOWN'), refusal(wanted, before.blocked))
      return { kind: 'refused', asking, wanted, risk: 'UNKNOWN', drafts }
    }
    const { risk, spent } = await this.#assess(wanted, state, turn, signal)
    drafts.push(...spent)
    const kind = needsConfirmation(turn.state().confirmation_policy, risk) ? 'ask' : 'allow'
    return { kind, asking, wanted, risk, drafts }
  }

  allow({ asking, wanted }: Verdict): void {
    this.waiting.delete(wanted.id)
    this.#going.set(wanted.callId, { wanted, since: performance.now() })
    asking.answer(choose('allow', asking.request) ?? CANCELLED)
  }

  refuse({ asking, wanted }: Verdict): void {
    this.waiting.delete(wanted.id)
    asking.answer(choose('reject', asking.request) ?? CANCELLED)
  }

  /** Tells the hooks that an allowed call has ended. */
  async ended(call: ToolCall, turn: Turn, signal: AbortSignal): Promise<Draft[]> {
    const { hooks, log } = this.#deps
    const going = this.#going.get(call.id)
    if (going === undefined) return []
    this.#going.delete(call.id)
    const { id, tool, action } = going.wanted
    try {
      const after = await hooks?.after(
        { action_id: id, tool_name: tool, action },
        observed(action, tool, call),
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
    wanted: WantedCall,
    state: ConversationState,
    turn: Turn,
    signal: AbortSignal,
  ): Promise<{ risk: SecurityRisk; spent: Draft[] }> {
    const { analyze, workingDir, log } = this.#deps
    const record = state.security_analyzer
    if (analyze === undefined || record === null) return { risk: 'UNKNOWN', spent: [] }
    const call: AnalyzedCall = {
      action_id: wanted.id,
      tool_name: wanted.tool,
      action: wanted.action,
      tool_call: wanted.toolCall,
      own_fields: [],
      predicted_risk: 'UNKNOWN',
      summary: wanted.summary,
      thought: '',
      reasoning: null,
      is_read_only: false,
    }
    try {
      const context = { history: [...turn.view()], earlier: [], working_dir: workingDir }
      const { risk, spent } = await abortable(analyze(record, call, context, signal), signal)
      return { risk, spent: spent.map(analysisUsage) }
    } catch (error) {
      if (signal.aborted) throw error
      log.warn({ action_id: wanted.id, err: error }, 'security analyzer failed; the risk counts as HIGH')
      return { risk: 'HIGH', spent: [] }
    }
  }
}

/** One batch that a person decides about. Never the id of another one: an answer to that must not count for this. */
export const permissionId = (id: EventId): string => `acp_permission_${id}`

/** The drafts that put calls before a person. */
export function confirmation(asked: readonly Verdict[]): Draft[] {
  const [first] = asked
  if (first === undefined) return []
  const batch = permissionId(first.wanted.id)
  const actions = asked.map(({ wanted, risk }) => ({ action_id: wanted.id, risk }))
  return [
    ...asked.map(({ wanted, risk }) => permissionAction(wanted, batch, risk)),
    { kind: 'ConfirmationRequestedEvent', source: 'environment', llm_response_id: batch, actions },
  ]
}

const refusal = ({ id, tool, callId }: WantedCall, reason: string): Draft => ({
  kind: 'UserRejectObservation',
  source: 'environment',
  tool_name: tool,
  tool_call_id: callId,
  rejection_reason: reason,
  rejection_source: 'hook',
  action_id: id,
})
