import { ParleyError, type ConversationState, type Draft, type EventId, type OpenAction } from '@parley/protocol'
import { hasHooks } from '../hooks/index.ts'
import type { Command } from './conversations.ts'
import { closeAction, pausing, rejectAction, statusChanged, userMessage } from './drafts.ts'
import { decideGoal, interrupted } from './goal/goal.ts'
import { submitted, type Submission } from './live/hooked.ts'

/** What stands where a navigation goes; looked up by the shell. */
export type NavigationTarget = {
  to: EventId | null
  open_actions: OpenAction[]
  last_user_message_id: string | null
  owes_step: boolean
}

export type Decision = {
  drafts: Draft[]
  /** Start the loop after the commit. */
  runs: boolean
  /** Tell watchers the whole state after the commit. */
  snapshot: boolean
}

type Decidable =
  | Exclude<
      Command,
      {
        kind:
          | 'interrupt'
          | 'navigate'
          | 'start'
          | 'stop'
          | 'condense'
          | 'switch_llm'
          | 'switch_acp_model'
          | 'set_secrets'
          | 'client_result'
      }
    >
  | {
      kind: 'navigate'
      target: NavigationTarget
      /** Skills that the model has been given there; absent: as before. */
      given?: string[]
    }

/**
 * What a command does to a conversation. Pure. Source: agent-core.md 1.2, agent-server-wire.md 6.2; F01, F02, F05.
 * `submission`: what hooks made of the message that the command sends; absent when there are none for it.
 * @throws ParleyError `conflict` (already running), `nothing_pending`.
 */
export function decide(
  state: ConversationState,
  command: Decidable,
  actor: string,
  preamble: readonly Draft[],
  submission?: Submission,
): Decision {
  const { execution_status: status, awaiting_approval: awaiting } = state
  const opening = state.has_system_prompt ? [] : preamble
  switch (command.kind) {
    case 'send_message': {
      // A message never approves (F01): while a batch waits, the message is stored and the batch goes on waiting.
      const runs = command.run && status !== 'waiting_for_confirmation'
      const said = submission === undefined ? [messageOf(command)] : submitted(state, [submission])
      const drafts = [...interrupted(state), ...opening, ...said]
      if (runs && status !== 'running') drafts.push(statusChanged('running'))
      else if (!runs && (status === 'finished' || status === 'stuck')) drafts.push(statusChanged('idle'))
      return { drafts, runs, snapshot: false }
    }
    case 'run':
      if (status === 'running') throw alreadyRunning()
      // Stop hooks are asked again each time: they may have changed their minds (agent-core.md 1.2).
      if (status === 'finished' && !hasHooks(state.hook_config, 'Stop')) return nothing({ snapshot: true })
      // Only what was shown as waiting can be approved this way; anything else is asked about first.
      if (status === 'waiting_for_confirmation' && awaiting !== null)
        return approve(state, awaiting.llm_response_id, actor)
      return { drafts: [...opening, statusChanged('running')], runs: true, snapshot: false }
    case 'pause':
      if (status !== 'idle' && status !== 'running' && awaiting?.sub_agent === undefined)
        return nothing({ snapshot: true })
      return { drafts: pausing(), runs: false, snapshot: true }
    case 'respond':
      return respond(state, command, actor)
    case 'navigate': {
      if (status === 'running')
        throw new ParleyError('conflict', 'The conversation is running. Pause it before you navigate.')
      const { target, given } = command
      const drafts: Draft[] = [{ kind: 'LeafMovedEvent', source: 'user', ...target }]
      if (given !== undefined && given.length < state.activated_knowledge_skills.length) {
        const key = 'activated_knowledge_skills'
        drafts.push({ kind: 'StateChangedEvent', source: 'environment', key, value: given })
      }
      for (const action of target.open_actions) {
        drafts.push(
          closeAction(
            action,
            'This call was left open by moving to this point of the conversation; it was not executed.',
          ),
        )
      }
      if (status === 'waiting_for_confirmation')
        drafts.push(statusChanged('idle', 'navigated away from the waiting actions'))
      return { drafts, runs: false, snapshot: true }
    }
    case 'set_confirmation_policy':
      return changed({ key: 'confirmation_policy', value: command.policy })
    case 'set_security_analyzer':
      return changed({ key: 'security_analyzer', value: command.analyzer })
    case 'start_goal':
    case 'stop_goal':
    case 'resume_goal':
      return { ...decideGoal(state, command, opening, submission), snapshot: false }
    default:
      return command satisfies never
  }
}

function messageOf({ content, message_id }: Extract<Command, { kind: 'send_message' }>): Draft {
  return { ...userMessage(content), ...(message_id === undefined ? {} : { id: message_id }) }
}

function respond(state: ConversationState, command: Extract<Command, { kind: 'respond' }>, actor: string): Decision {
  const { execution_status: status, awaiting_approval: awaiting } = state
  if (awaiting === null) {
    // Existing clients answer while the approved run already goes on, and reject without looking (agent-server-wire.md 1.6).
    if (status === 'running' || !command.accept) return nothing({ snapshot: false })
    throw new ParleyError(
      'nothing_pending',
      'No action of this conversation waits for a confirmation. Use run to go on.',
    )
  }
  const batch = awaiting.llm_response_id
  if (command.llm_response_id !== undefined && command.llm_response_id !== batch) {
    throw new ParleyError(
      'conflict',
      `The batch that waits is ${batch}, not ${command.llm_response_id}. Look at it and answer again.`,
    )
  }
  if (command.accept) return approve(state, batch, actor)
  const waiting = awaited(state)
  // The answer goes to the sub-agent's own actions; the call that waits for it goes on.
  if (awaiting.sub_agent !== undefined)
    return {
      drafts: [approval(waiting, batch, 'reject', actor, command.reason), statusChanged('running')],
      runs: true,
      snapshot: true,
    }
  // A goal that waited for this answer goes on with it.
  const goesOn = state.goal?.active === true
  return {
    drafts: [
      approval(waiting, batch, 'reject', actor, command.reason),
      // Nobody is left to answer the rest of the batch, such as calls that a hook has blocked (P24).
      ...state.open_actions.map((action) => refuse(action, state.blocked_actions[action.id], command.reason)),
      statusChanged(goesOn ? 'running' : 'idle'),
    ],
    runs: goesOn,
    snapshot: true,
  }
}

function refuse(action: OpenAction, blockedBecause: string | undefined, reason: string): Draft {
  if (blockedBecause === undefined) return rejectAction(action, reason)
  return { ...rejectAction(action, blockedBecause), rejection_source: 'hook' } as Draft
}

function approve(state: ConversationState, batch: string, actor: string): Decision {
  return {
    drafts: [approval(awaited(state), batch, 'accept', actor, null), statusChanged('running')],
    runs: true,
    snapshot: false,
  }
}

function approval(
  actions: readonly OpenAction[],
  llm_response_id: string,
  decision: 'accept' | 'reject',
  actor: string,
  reason: string | null,
): Draft {
  const action_ids = actions.map(({ id }) => id)
  return { kind: 'ApprovalEvent', source: 'user', llm_response_id, action_ids, decision, actor, reason }
}

function awaited(state: ConversationState): OpenAction[] {
  const ids = new Set(state.awaiting_approval?.actions.map(({ action_id }) => action_id))
  return state.open_actions.filter(({ id }) => ids.has(id))
}

function changed(change: { key: 'confirmation_policy' | 'security_analyzer'; value: unknown }): Decision {
  return { drafts: [{ kind: 'StateChangedEvent', source: 'user', ...change } as Draft], runs: false, snapshot: false }
}

function nothing({ snapshot }: { snapshot: boolean }): Decision {
  return { drafts: [], runs: false, snapshot }
}

const OPENING: ReadonlySet<Command['kind']> = new Set<Command['kind']>([
  'send_message',
  'run',
  'start_goal',
  'resume_goal',
])

/** Whether the branch begins with this command, and so with the system prompt. */
export function opensBranch({ kind }: Command, { has_system_prompt }: ConversationState): boolean {
  return OPENING.has(kind) && !has_system_prompt
}

/** Source: agent-server-wire.md 1.5, run. */
export function alreadyRunning(): ParleyError {
  return new ParleyError('conflict', 'Conversation already running. Wait for completion or pause first.')
}
