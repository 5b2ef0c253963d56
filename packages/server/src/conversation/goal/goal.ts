/**
 * Work towards a goal: the drafts of each of its steps. Pure. Source: agent-core.md 3.7; F08, F50.
 *
 * Invariants
 *   G1. The progress of the goal is in the log (`state.goal`), so that it continues after a restart as a run does.
 *   G2. A round ends where a run would end by itself, finished or stuck; an action that waits for a person suspends it (F08).
 *   G3. Every other end of the run (a pause, an error), and every message of a person, interrupts the goal.
 *   G4. Its messages pass the hooks that inspect messages, as a person's do. A message that they block interrupts the goal.
 */
import {
  newEventId,
  ParleyError,
  textContent,
  type ConversationState,
  type Draft,
  type GoalStatus,
  type GoalVerdict,
} from '@parley/protocol'
import type { Command } from '../conversations.ts'
import { statusChanged, userMessage } from '../drafts.ts'
import { submitted, type Submission } from '../submission.ts'

/** `sender` of the messages of a goal, which distinguishes them from a person's. */
export const GOAL_SENDER = 'goal'

export type GoalCommand = Extract<Command, { kind: 'start_goal' | 'stop_goal' | 'resume_goal' }>

/**
 * Decides what a command does to the goal. `opening` precedes the first message of a branch.
 * @param submission the message of the command after the hooks ran; absent when no hook applies
 * @throws ParleyError `bad_request`, `conflict`.
 */
export function decideGoal(
  state: ConversationState,
  command: GoalCommand,
  opening: readonly Draft[],
  submission?: Submission,
): { drafts: Draft[]; runs: boolean } {
  if (command.kind === 'stop_goal') return { drafts: interrupted(state), runs: false }
  const { goal, text } = opened(state, command)
  return begin(state, goal, submission ?? submissionOf(text), opening)
}

/** Returns the message that a command sends to the agent. @throws ParleyError `bad_request`, `conflict`. */
export const goalText = (state: ConversationState, command: Exclude<GoalCommand, { kind: 'stop_goal' }>): string =>
  opened(state, command).text

function opened(
  state: ConversationState,
  command: Exclude<GoalCommand, { kind: 'stop_goal' }>,
): { goal: GoalStatus; text: string } {
  switch (command.kind) {
    case 'start_goal': {
      const objective = command.objective.trim()
      if (objective === '') throw new ParleyError('bad_request', 'Goal objective must not be empty.')
      expectFree(state)
      const { max_iterations } = command
      const goal: GoalStatus = {
        active: true,
        status: 'running',
        iteration: 0,
        max_iterations,
        objective,
        verdict: null,
      }
      return { goal, text: objective }
    }
    case 'resume_goal': {
      expectFree(state)
      const { goal } = state
      if (goal?.status !== 'interrupted') throw new ParleyError('bad_request', 'no_resumable_goal')
      return { goal: { ...goal, active: true, status: 'running' }, text: resumption(goal) }
    }
  }
}

function expectFree({ execution_status, goal }: ConversationState): void {
  if (execution_status === 'running' || goal?.active === true)
    throw new ParleyError('conflict', 'Conversation run or goal loop already running.')
}

function begin(state: ConversationState, goal: GoalStatus, submission: Submission, opening: readonly Draft[]) {
  const messages = submitted(state, [submission])
  if (submission.blocked !== null) return { drafts: [goalChanged(ended(goal)), ...opening, ...messages], runs: false }
  // A pending batch remains pending: a goal approves nothing (F08).
  const runs = state.execution_status !== 'waiting_for_confirmation'
  const drafts = [goalChanged(goal), ...opening, ...messages, ...(runs ? [statusChanged('running')] : [])]
  return { drafts, runs }
}

/** Ends an active goal that is not reached; empty when there is none. */
export function interrupted({ goal }: Pick<ConversationState, 'goal'>): Draft[] {
  return goal?.active === true ? [goalChanged(ended(goal))] : []
}

/** The drafts that a commit of `drafts` adds for an active goal: it is interrupted when the run ends for another reason (G3). */
export function goalEndedBy(state: ConversationState, drafts: readonly Draft[]): Draft[] {
  let { goal, execution_status: status } = state
  for (const draft of drafts) {
    if (draft.kind === 'StatusChangedEvent') status = draft.status
    if (draft.kind === 'StateChangedEvent' && draft.key === 'goal') goal = draft.value as GoalStatus
  }
  return status === 'running' || status === 'waiting_for_confirmation' ? [] : interrupted({ goal })
}

/** Returns the message to the agent after a verdict; null when the goal ends with it. */
export function followUpOf({ goal }: Pick<ConversationState, 'goal'>, verdict: GoalVerdict): string | null {
  const isOver = goal?.active !== true || verdict.complete || goal.iteration + 1 >= goal.max_iterations
  return isOver ? null : followUp(verdict)
}

/**
 * Returns the consequence of a verdict. A goal that was ended meanwhile is not resumed.
 * @param submission the next message after the hooks ran; absent when no hook applies
 */
export function afterVerdict(state: ConversationState, verdict: GoalVerdict, submission?: Submission): Draft[] {
  const { goal } = state
  // The execution of the hooks is recorded, also when no message follows.
  if (goal?.active !== true) return [...(submission?.drafts ?? [])]
  const judged = { ...goal, iteration: goal.iteration + 1, verdict }
  if (verdict.complete) return [goalChanged({ ...judged, active: false, status: 'complete' })]
  if (judged.iteration >= goal.max_iterations) return [goalChanged({ ...judged, active: false, status: 'capped' })]
  const message = submission ?? submissionOf(followUp(verdict))
  const next = message.blocked === null ? judged : ended(judged)
  return [goalChanged(next), ...submitted(state, [message])]
}

function goalChanged(value: GoalStatus): Draft {
  return { kind: 'StateChangedEvent', source: 'environment', key: 'goal', value }
}

const ended = (goal: GoalStatus): GoalStatus => ({ ...goal, active: false, status: 'interrupted' })

/** A message that no hook inspects. */
function submissionOf(text: string): Submission {
  const message = { ...userMessage([textContent(text)]), sender: GOAL_SENDER, id: newEventId() }
  return { message, drafts: [], blocked: null }
}

function followUp({ missing }: GoalVerdict): string {
  const gap = missing === '' ? 'The record does not show that it is reached.' : `What is missing: ${missing}`
  return `The goal is not reached yet. ${gap}
Go on until all of it is done, and show that it is: run what proves it and let its output be seen. If something cannot be done, say what and why.`
}

function resumption({ objective, verdict }: GoalStatus): string {
  const gap =
    verdict === null || verdict.missing === '' ? '' : `\nMissing when it was last looked at: ${verdict.missing}`
  return `Take the goal up again where you left it, and go on until all of it is done.\nThe goal: ${objective}${gap}`
}
