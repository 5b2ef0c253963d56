import {
  type ConversationState,
  type Draft,
  type EventId,
  ParleyError,
  type SecurityAnalyzer,
  under,
} from '@parley/protocol'
import { hasHooks } from '../hooks/index.ts'
import { approvedByRun, respond, type Approvals } from './approvals.ts'
import { outcomeText, type EarlierOutcome } from './branch/earlier-outcomes.ts'
import type { Command } from './conversations.ts'
import { closeAction, pausing, statusChanged, userMessage } from './drafts.ts'
import { decideGoal, interrupted, type GoalCommand } from './goal/goal.ts'
import { submitted, withoutBlocks, type Submission } from './submission.ts'
import type { NavigationTarget } from './branch/navigation-target.ts'

export type Decision = {
  drafts: Draft[]
  /** The loop starts after the commit. */
  runs: boolean
  /** Watchers receive the whole state after the commit. */
  snapshot: boolean
}

/** The inputs of a decision besides state and command. */
type Context = {
  approvals: Approvals
  /** Drafts that precede the first message of a branch; empty on a branch that has begun. */
  opening: readonly Draft[]
  /** The message of the command after the hooks ran; absent when no hook applies. */
  submission: Submission | undefined
}

type CommandOf<K extends Command['kind']> = Extract<Command, { kind: K }>

/** A navigation whose target is known. */
export type Navigation = {
  kind: 'navigate'
  target: NavigationTarget
  /** What is known of the calls that are open there. */
  outcomes: ReadonlyMap<EventId, EarlierOutcome>
  /** The skills that the model has received there; absent: as before. */
  given?: string[]
}

type Decider<C> = (state: ConversationState, command: C, context: Context) => Decision

/** The commands that state and log decide alone, one row for each kind. */
const DECIDERS = {
  send_message: sendMessage,
  run: startRun,
  pause,
  respond: (state: ConversationState, command: CommandOf<'respond'>, { approvals }: Context) =>
    respond(state, command, approvals),
  navigate,
  set_confirmation_policy: (_: ConversationState, { policy }: CommandOf<'set_confirmation_policy'>) =>
    changed({ key: 'confirmation_policy', value: policy }),
  set_security_analyzer: (_: ConversationState, { analyzer }: CommandOf<'set_security_analyzer'>) =>
    changed({ key: 'security_analyzer', value: analyzer }),
  start_goal: changeGoal,
  stop_goal: changeGoal,
  resume_goal: changeGoal,
}

export type Decidable = Navigation | CommandOf<Exclude<keyof typeof DECIDERS, 'navigate'>>

/**
 * Decides what a command does to a conversation. Pure. Source: agent-core.md 1.2; agent-server-wire.md 6.2; F01, F02, F05.
 * @param approvals what an approval by this command is made of
 * @param preamble drafts that precede the first message of a branch
 * @param submission the message of the command after the hooks ran; absent when no hook applies
 * @throws ParleyError `conflict` (already running, another batch), `nothing_pending`.
 */
export function decide(
  state: ConversationState,
  command: Decidable,
  approvals: Approvals,
  preamble: readonly Draft[],
  submission?: Submission,
): Decision {
  const decider = DECIDERS[command.kind] as Decider<Decidable>
  return decider(state, command, { approvals, opening: state.has_system_prompt ? [] : preamble, submission })
}

function sendMessage(
  state: ConversationState,
  command: CommandOf<'send_message'>,
  { opening, submission }: Context,
): Decision {
  const { execution_status: status } = state
  // A message never approves (F01): while a batch waits, the message is stored and the batch remains pending.
  const runs = command.run && status !== 'waiting_for_confirmation'
  const messages = submission === undefined ? [messageOf(command)] : submitted(state, [submission])
  const drafts = [...interrupted(state), ...opening, ...messages]
  if (runs && status !== 'running') drafts.push(statusChanged('running'))
  else if (!runs && (status === 'finished' || status === 'stuck')) drafts.push(statusChanged('idle'))
  return { drafts, runs, snapshot: false }
}

function startRun(state: ConversationState, command: CommandOf<'run'>, { approvals, opening }: Context): Decision {
  const { execution_status: status } = state
  const approved = approvedByRun(state, command, approvals)
  if (approved !== null) return approved
  if (status === 'running') throw alreadyRunning()
  // Stop hooks run again each time: their answer may have changed (agent-core.md 1.2).
  if (status === 'finished' && !hasHooks(state.hook_config, 'Stop')) return { drafts: [], runs: false, snapshot: true }
  return { drafts: [...opening, statusChanged('running')], runs: true, snapshot: false }
}

function pause({ execution_status: status, awaiting_approval: awaiting }: ConversationState): Decision {
  if (status !== 'idle' && status !== 'running' && awaiting?.sub_agent === undefined)
    return { drafts: [], runs: false, snapshot: true }
  return { drafts: pausing(), runs: false, snapshot: true }
}

function navigate(state: ConversationState, { target, outcomes, given }: Navigation): Decision {
  const { execution_status: status } = state
  if (status === 'running')
    throw new ParleyError('conflict', 'The conversation is running. Pause it before you navigate.')
  const drafts: Draft[] = [{ kind: 'LeafMovedEvent', source: 'user', ...target }]
  if (given !== undefined && given.length < state.activated_knowledge_skills.length) {
    const key = 'activated_knowledge_skills'
    drafts.push({ kind: 'StateChangedEvent', source: 'environment', key, value: given })
  }
  for (const action of target.open_actions) {
    const outcome = outcomes.get(action.id) ?? { kind: 'unknown' }
    drafts.push(closeAction(action, outcomeText(outcome, 'on another branch of this conversation')))
  }
  // No call that is open now is executed any more.
  const left = state.open_actions.map(({ id }) => id)
  drafts.push(...withoutBlocks(state, left))
  if (status === 'waiting_for_confirmation')
    drafts.push(statusChanged('idle', 'navigated away from the waiting actions'))
  return { drafts, runs: false, snapshot: true }
}

function changeGoal(state: ConversationState, command: GoalCommand, { opening, submission }: Context): Decision {
  return { ...decideGoal(state, command, opening, submission), snapshot: false }
}

function messageOf({ content, event_id, message_id = event_id }: CommandOf<'send_message'>): Draft {
  return { ...userMessage(content), ...(message_id === undefined ? {} : { id: message_id }) }
}

function changed(change: { key: 'confirmation_policy' | 'security_analyzer'; value: unknown }): Decision {
  return { drafts: [{ kind: 'StateChangedEvent', source: 'user', ...change } as Draft], runs: false, snapshot: false }
}

const OPENING: ReadonlySet<Command['kind']> = new Set<Command['kind']>([
  'send_message',
  'run',
  'start_goal',
  'resume_goal',
])

/** True when the branch, and so the system prompt, begins with this command. */
export function opensBranch(
  command: Pick<Command, 'kind'> & Pick<CommandOf<'send_message'>, 'parent_event_id'>,
  { has_system_prompt }: ConversationState,
): boolean {
  const { kind, parent_event_id } = command
  return parent_event_id === undefined ? OPENING.has(kind) && !has_system_prompt : parent_event_id === null
}

/** The command as it is stored: an analyzer's secrets encrypted. @throws ParleyError `invalid_input` for one that cannot be opened. */
export async function withAcceptedAnalyzer(
  command: Command,
  acceptAnalyzer: (requested: SecurityAnalyzer) => Promise<SecurityAnalyzer>,
): Promise<Command> {
  if (command.kind !== 'set_security_analyzer' || command.analyzer === null) return command
  const { analyzer } = command
  return { ...command, analyzer: await under(['security_analyzer'], () => acceptAnalyzer(analyzer)) }
}

/** Source: agent-server-wire.md 1.5. */
function alreadyRunning(): ParleyError {
  return new ParleyError('conflict', 'Conversation already running. Wait for completion or pause first.')
}
