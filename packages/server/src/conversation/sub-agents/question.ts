/** A sub-agent's waiting batch as its parent asks about it. Source: agent-core.md 12.1 (a), F09. */
import type {
  ConversationId,
  ConversationState,
  Draft,
  EventId,
  SecurityRisk,
  SubAgentQuestion,
} from '@parley/protocol'
import type { EventStore } from '../../storage/index.ts'
import { statusChanged } from '../drafts.ts'
import type { SubAgentOrigin } from '../record/record.ts'

/** The id of a question in the parent's log; with an empty batch, what all questions of this child begin with. */
export const questionId = (child: ConversationId, batch: string): string => `${child}/${batch}`

/** Answers that are looked through for one: it is given shortly before it is looked for. */
const NEWEST_ANSWERS = 50

/** How a person answered a question; null: not yet. */
export async function answerTo(events: EventStore, parent: ConversationId, question: string) {
  const answers = await events.newest(parent, 'ApprovalEvent', NEWEST_ANSWERS)
  for (const { event } of answers)
    if (event.kind === 'ApprovalEvent' && event.llm_response_id === question) return event
  return null
}

/** The question, as the child's own log has it. */
export async function questionOf(
  events: EventStore,
  child: ConversationId,
  origin: SubAgentOrigin,
  awaited: NonNullable<ConversationState['awaiting_approval']>,
): Promise<SubAgentQuestion> {
  const { llm_response_id } = awaited
  const asker = { conversation_id: child, llm_response_id, name: origin.name, subagent: origin.type }
  // It asks for one of its own: what is shown is what would be done.
  if (awaited.sub_agent !== undefined) return { ...asker, actions: awaited.sub_agent.actions }
  const actions = await Promise.all(
    awaited.actions.map(async ({ action_id, risk }) => {
      const event = (await events.get(child, action_id))?.event
      if (event?.kind !== 'ActionEvent') return { action_id, tool_name: '', risk, summary: null, action: null }
      return { action_id, tool_name: event.tool_name, risk, summary: event.summary ?? null, action: event.action }
    }),
  )
  return { ...asker, actions }
}

const RANK = { UNKNOWN: 0, LOW: 1, MEDIUM: 2, HIGH: 3 } satisfies Record<SecurityRisk, number>

/** Asks, if the call still waits and nothing else is asked; otherwise nothing, and it is tried again when something changes. */
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
      llm_response_id: questionId(question.conversation_id, question.llm_response_id),
      actions: [{ action_id: callId as EventId, risk }],
      sub_agent: question,
    },
    statusChanged('waiting_for_confirmation'),
  ]
}

/** Takes a question back that was answered elsewhere. */
export function withdrawing(parent: ConversationState, child: ConversationId): Draft[] {
  const isIts = parent.awaiting_approval?.llm_response_id.startsWith(questionId(child, '')) === true
  return isIts && parent.execution_status === 'waiting_for_confirmation' ? [statusChanged('running')] : []
}

const worst = (risks: readonly SecurityRisk[]): SecurityRisk =>
  risks.reduce<SecurityRisk>((worse, risk) => (RANK[risk] > RANK[worse] ? risk : worse), 'UNKNOWN')
