/** The reducer of the event log, which clients use too. */
import type { MutatedFile } from '../mutant.ts'

export const state: readonly MutatedFile[] = [
  {
    file: 'packages/protocol/src/state.ts',
    tests: ['packages/protocol/src/state.test.ts'],
    mutants: [
      { before: 'leaf_event_id: event.id, has_tree: true', after: 'leaf_event_id: event.id' },
      { before: 'if (Object.hasOwn(at.blocked_messages, event.id))', after: 'if (false)' },
      { before: 'owes_step: at.owes_step && at.last_input_seq > 0', after: 'owes_step: true' },
      {
        before: '...withdrawConsent(received), owes_step: true, last_input_seq: seq',
        after: '...received, owes_step: true, last_input_seq: seq',
      },
      {
        before: '...withdrawConsent(received), owes_step: true, last_input_seq: seq',
        after: '...withdrawConsent(received), owes_step: true',
      },
      { before: 'owes_step: !hasText(event) || hasUnseenInput(at)', after: 'owes_step: !hasText(event)' },
      { before: 'owes_step: !hasText(event) || hasUnseenInput(at)', after: 'owes_step: hasUnseenInput(at)' },
      { before: 'if (event.action === null) return', after: 'if (false) return' },
      {
        before: "event.observation.kind !== 'FinishObservation' || hasUnseenInput(at)",
        after: "event.observation.kind !== 'FinishObservation'",
      },
      { before: 'open.tool_call_id === event.tool_call_id', after: 'open.id === (event.id as string)' },
      {
        before: "event.status === 'running' && at.execution_status !== 'running'",
        after: "event.status === 'running'",
      },
      { before: 'starts ? { iterations: 0, condensations: 0 } : {}', after: 'starts ? { condensations: 0 } : {}' },
      { before: "&& event.status !== 'waiting_for_confirmation'", after: '' },
      { before: 'at.awaiting_approval?.sub_agent !== undefined', after: 'at.awaiting_approval !== null' },
      { before: 'open_actions: event.open_actions,\n', after: '' },
      { before: 'owes_step: event.owes_step,\n', after: '' },
      { before: 'last_input_seq: 0,\n        seen_seq: 0,', after: 'seen_seq: 0,' },
      { before: 'seen_seq: 0,\n        awaiting_approval: null,\n', after: 'seen_seq: 0,\n' },
      { before: 'last_user_message_id: event.last_user_message_id,', after: '' },
      { before: 'replay: null,\n      }', after: '}' },
      { before: 'asked(event), decided_approval: null', after: 'asked(event)' },
      { before: 'seen_seq: event.seen_seq ?? at.seen_seq', after: 'seen_seq: at.seen_seq' },
      { before: 'if (!(event.key in EMPTY_STATE)) return at', after: '' },
      { before: 'isNew ? { iterations: 0', after: 'false ? { iterations: 0' },
      { before: 'if (awaited === null || !isSame) return at', after: 'if (awaited === null) return at' },
      { before: "if (decision === 'reject') return closed", after: '' },
      { before: 'if (!approved.has(open.id)) return open', after: '' },
      { before: "({ ...open, consent: 'needed' })", after: 'open' },
      { before: 'if (index === -1) return at', after: '' },
      { before: 'awaiting_approval: stillAwaited ? awaits : null', after: 'awaiting_approval: awaits' },
      { before: 'awaiting_approval: stillAwaited ? awaits : null', after: 'awaiting_approval: null' },
      { before: ' || responseId === at.last_response_id', after: '' },
      { before: 'last_response_id: responseId, condensations: 0', after: 'last_response_id: responseId' },
      { before: 'at.last_input_seq > at.seen_seq', after: 'false' },
      { before: "part.text.trim() !== ''", after: 'true' },
    ],
  },
]
