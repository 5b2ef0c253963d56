/** A sub-agent's pending batch as a question of its parent. Source: agent-core.md 12.1, F09. */
import {
  type ConversationId,
  type ConversationState,
  type Draft,
  type EventId,
  type SecurityRisk,
  type SubAgentQuestion,
} from '@parley/protocol'
import type { EventStore } from '../../storage/index.ts'
import { statusChanged } from '../drafts.ts'
import type { SubAgentOrigin } from '../record/record.ts'

/** Name of a question in the parent's log; with an empty batch, the common prefix of all questions of this child. */
export const questionId = (child: ConversationId, batch: string): string => `${child}/${batch}`

/** Number of newest answers that are searched. */
const NEWEST_ANSWERS = 50

/** Returns the person's answer to a question; null: none yet. */
export async function answerTo(events: EventStore, parent: ConversationId, question: string) {
  const answers = await events.newest(parent, 'ApprovalEvent', NEWEST_ANSWERS)
  for (const { event } of answers)
    if (event.kind === 'ApprovalEvent' && event.llm_response_id === question) return event
  return null
}

/** Returns the question, with the actions from the child's log. */
export async function questionOf(
  events: EventStore,
  child: ConversationId,
  origin: SubAgentOrigin,
  awaited: NonNullable<ConversationState['awaiting_approval']>,
): Promise<SubAgentQuestion> {
  const { llm_response_id } = awaited
  const batch_id = awaited.batch_id
  const asker = { conversation_id: child, llm_response_id, batch_id, name: origin.name, subagent: origin.type }
  // The batch belongs to a sub-agent of the child: its actions are shown.
  if (awaited.sub_agent !== undefined) return { ...asker, actions: awaited.sub_agent.actions }
  const actions = await Promise.all(
    awaited.actions.map(async ({ action_id, risk, reasons }) => {
      const event = (await events.get(child, action_id))?.event
      if (event?.kind !== 'ActionEvent') return { action_id, tool_name: '', risk, summary: null, action: null }
      const { tool_name, summary, action } = event
      return {
        action_id,
        tool_name,
        risk,
        summary: summary ?? null,
        action,
        ...(reasons === undefined ? {} : { reasons }),
      }
    }),
  )
  return { ...asker, actions }
}

const RANK = { UNKNOWN: 0, LOW: 1, MEDIUM: 2, HIGH: 3 } satisfies Record<SecurityRisk, number>

/** Asks if the call still waits and no other question is pending; otherwise empty, to be repeated after the next change. */
export function asking(parent: ConversationState, callId: string, question: SubAgentQuestion): Draft[] {
  if (parent.execution_status !== 'running' || parent.awaiting_approval !== null) return []
  const call = parent.open_actions.find(({ id }) => id === callId)
  if (call === undefined) return []
  const risks = question.actions.map(({ risk }) => risk)
  const risk = risks.includes('UNKNOWN') && !risks.includes('HIGH') ? 'UNKNOWN' : worst(risks)
  return [
    {
      kind: 'ConfirmationRequestedEvent',
      source: 'environment',
      llm_response_id: questionId(question.conversation_id, question.batch_id ?? question.llm_response_id),
      actions: [{ action_id: callId as EventId, risk }],
      sub_agent: question,
    },
    statusChanged('waiting_for_confirmation'),
  ]
}

/** Withdraws a question that was answered elsewhere. */
export function withdrawing(parent: ConversationState, child: ConversationId): Draft[] {
  const isIts = parent.awaiting_approval?.llm_response_id.startsWith(questionId(child, '')) === true
  return isIts && parent.execution_status === 'waiting_for_confirmation' ? [statusChanged('running')] : []
}

const worst = (risks: readonly SecurityRisk[]): SecurityRisk =>
  risks.reduce<SecurityRisk>((worse, risk) => (RANK[risk] > RANK[worse] ? risk : worse), 'UNKNOWN')
