/**
 * Detects from the newest events of a branch that an agent repeats itself. Pure. Source: agent-core.md 3.6, F49.
 *
 * Rules
 *   K1. Only events after the newest message of a person count, and of those at most the newest 20.
 *   K2. Actions are compared by tool and arguments, never by their thoughts; results without the values that differ in every
 *       call: process ids, times, durations. Rejections are compared by tool and reason.
 *   K3. Waiting for a command is no repetition, however often the agent asks; it is limited in elapsed time.
 *   K4. A streak of failing calls is pointed out to the agent once; at the next failure of the same call the agent is stuck.
 */
import { createHash } from 'node:crypto'
import type {
  ActionEvent,
  AgentErrorEvent,
  EventId,
  ObservationEvent,
  TreeEvent,
  UserRejectObservation,
} from '@parley/protocol'
import { isEndNotice } from '../../agent/index.ts'
import { isWait, waitedMs } from './waiting.ts'

export type StuckThresholds = {
  /** Number of times that the same action has the same result. */
  action_observation: number
  /** Number of times that the same action fails before the agent is warned. */
  action_error: number
  /** Number of messages of the agent in a row without an effect. */
  monologue: number
  /** Number of actions that alternate between two; below 3 everything would alternate. */
  alternating_pattern: number
  /** Milliseconds of waiting without any news. */
  waiting_ms: number
}

const STUCK_THRESHOLDS: StuckThresholds = {
  action_observation: 4,
  action_error: 3,
  monologue: 3,
  alternating_pattern: 6,
  waiting_ms: 3_600_000,
}

type StuckPattern = 'repeated_action' | 'repeated_error' | 'monologue' | 'alternating_actions' | 'waiting'

/** `nudge`: a message to the agent, which then gets another chance. */
export type Repetition = { kind: 'nudge'; text: string } | { kind: 'stuck'; pattern: StuckPattern; detail: string }

const WINDOW = 20
const LEAST_ALTERNATION = 3
/** First words of every nudge, by which a given nudge is recognised. */
const NUDGE_HEAD = 'The same call has failed again and again'

/**
 * Examines the newest events of a view; null when the agent makes progress.
 * @param options.after the newest event of a repetition that a person has already dismissed
 */
export function findStuck(
  view: readonly TreeEvent[],
  { after = null, thresholds = STUCK_THRESHOLDS }: { after?: EventId | null; thresholds?: StuckThresholds } = {},
): Repetition | null {
  const newest = view.slice(-WINDOW)
  const recent = sincePerson(newest.slice(newest.findLastIndex(({ id }) => id === after) + 1))
  const { action_observation, action_error, monologue } = thresholds
  if (recent.length < Math.min(action_observation, action_error, monologue)) return null
  const calls = answeredCalls(recent)
  return (
    failing(calls, recent, action_error) ??
    waiting(view, after, thresholds.waiting_ms) ??
    repeating(calls, action_observation) ??
    talking(recent, monologue) ??
    alternating(calls, Math.max(LEAST_ALTERNATION, thresholds.alternating_pattern))
  )
}

type CallResult = ObservationEvent | UserRejectObservation | AgentErrorEvent
/** `at`: index of the answer among the events. */
type Call = { action: ActionEvent; answer: CallResult; at: number; asked: string; answered: string; isWait: boolean }

function sincePerson(events: readonly TreeEvent[]): readonly TreeEvent[] {
  return events.slice(events.findLastIndex((event) => event.kind === 'MessageEvent' && event.source === 'user') + 1)
}

/** Calls and their answers, in the order of the answers. */
function answeredCalls(events: readonly TreeEvent[]): Call[] {
  const open: ActionEvent[] = []
  const calls: Call[] = []
  for (const [at, event] of events.entries()) {
    if (event.kind === 'ActionEvent') open.push(event)
    if (event.kind !== 'ObservationEvent' && event.kind !== 'UserRejectObservation' && event.kind !== 'AgentErrorEvent')
      continue
    const index = open.findIndex((action) =>
      event.kind === 'AgentErrorEvent' ? action.tool_call_id === event.tool_call_id : action.id === event.action_id,
    )
    if (index === -1) continue
    const [action] = open.splice(index, 1) as [ActionEvent]
    calls.push({
      action,
      answer: event,
      at,
      asked: keyOf(action),
      answered: keyOf(event),
      isWait: isWait(action, event),
    })
  }
  return calls
}

function failing(calls: readonly Call[], events: readonly TreeEvent[], threshold: number): Repetition | null {
  const streak = trailing(calls, (call, last) => call.answer.kind === 'AgentErrorEvent' && call.asked === last.asked)
  const [first, last] = [streak[0], streak.at(-1)]
  if (first === undefined || last?.answer.kind !== 'AgentErrorEvent' || streak.length < threshold) return null
  const { tool_name } = last.action
  const nudged = events.findLastIndex((event, at) => at > first.at && isNudge(event))
  if (nudged === -1) {
    const text =
      `${NUDGE_HEAD}: ${tool_name} with these arguments, ${streak.length} times. The newest error was:\n\n${last.answer.error}\n\n` +
      'Doing it once more will not help. Find out why it fails, or go another way; if there is none, say what you need.'
    return { kind: 'nudge', text }
  }
  if (last.at < nudged) return null
  const detail = `The agent made the same failing call of ${tool_name} ${streak.length} times in a row, also after it was told so.`
  return stuck('repeated_error', detail)
}

function isNudge(event: TreeEvent): boolean {
  if (event.kind !== 'MessageEvent' || event.source !== 'environment') return false
  const [first] = event.llm_message.content
  return first?.type === 'text' && first.text.startsWith(NUDGE_HEAD)
}

function waiting(view: readonly TreeEvent[], after: EventId | null, limitMs: number): Repetition | null {
  const waited = waitedMs(after === null ? view : view.slice(view.findLastIndex(({ id }) => id === after) + 1))
  if (waited < limitMs) return null
  const minutes = Math.round(waited / 60_000)
  return stuck('waiting', `The agent waited ${minutes} minutes for a command without any news from it.`)
}

/** Failing calls, and those that wait, have their own rules. */
function repeating(calls: readonly Call[], threshold: number): Repetition | null {
  const streak = trailing(
    calls,
    (call, last) =>
      !call.isWait &&
      call.answer.kind !== 'AgentErrorEvent' &&
      call.asked === last.asked &&
      call.answered === last.answered,
  )
  if (streak.length < threshold) return null
  const { tool_name } = streak[0]!.action
  return stuck(
    'repeated_action',
    `The agent made the same call of ${tool_name} ${streak.length} times, with the same result.`,
  )
}

function talking(events: readonly TreeEvent[], threshold: number): Repetition | null {
  let messages = 0
  // Answers that were cut off, or could not be read, are limited by a rule of their own (agent-core.md 1.8).
  let isNoticed = false
  for (const event of events.toReversed()) {
    if (event.kind === 'CondensationSummaryEvent') continue
    if (event.kind !== 'MessageEvent') break
    if (event.source === 'agent' && !isNoticed) messages += 1
    isNoticed = isEndNotice(event)
  }
  if (messages < threshold) return null
  return stuck('monologue', `The agent wrote ${messages} messages in a row without doing or concluding anything.`)
}

function alternating(calls: readonly Call[], threshold: number): Repetition | null {
  const newest = calls.slice(-threshold)
  if (newest.length < threshold || newest.some((call) => call.isWait)) return null
  const repeats = newest.every((call, index) => {
    const before = newest[index - 2]
    return before === undefined || (call.asked === before.asked && call.answered === before.answered)
  })
  if (!repeats) return null
  const names = [...new Set(newest.map(({ action }) => action.tool_name))].join(' and ')
  return stuck(
    'alternating_actions',
    `The agent alternated between two calls of ${names} ${threshold} times, with the same results.`,
  )
}

const stuck = (pattern: StuckPattern, detail: string): Repetition => ({ kind: 'stuck', pattern, detail })

/** The calls at the end that are like the last one, oldest first. */
function trailing(calls: readonly Call[], isLike: (call: Call, last: Call) => boolean): Call[] {
  const last = calls.at(-1)
  if (last === undefined) return []
  const other = calls.findLastIndex((call) => !isLike(call, last))
  return calls.slice(other + 1)
}

/** Keys for comparison, by event. They are short, because results can be long and are compared repeatedly. */
const keys = new WeakMap<TreeEvent, string>()

function keyOf(event: ActionEvent | CallResult): string {
  const known = keys.get(event)
  if (known !== undefined) return known
  const key = createHash('sha256').update(comparable(event)).digest('base64')
  keys.set(event, key)
  return key
}

function comparable(event: ActionEvent | CallResult): string {
  switch (event.kind) {
    case 'ActionEvent':
      return JSON.stringify([event.kind, event.source, event.tool_name, event.action ?? event.tool_call.arguments])
    case 'ObservationEvent':
      return JSON.stringify([event.kind, event.source, event.tool_name, event.observation], steady)
    case 'UserRejectObservation':
      return JSON.stringify([event.kind, event.tool_name, event.rejection_reason])
    case 'AgentErrorEvent':
      return JSON.stringify([event.kind, event.source, event.error], steady)
  }
}

/** Members that identify one execution of a command, or its time. */
const RESTLESS =
  /^(pid|full_output_save_dir|timestamps?|time|date|duration|elapsed|latency|started|ended)(_?(at|ms|seconds))?$/i

/** Words of a text with the same meaning. */
const RESTLESS_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?Z|[+-]\d{2}:?\d{2})?)?/g, '<time>'],
  [/\b\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\b/g, '<time>'],
  [/\b1[5-9]\d{8}(\d{3})?(\.\d+)?\b/g, '<time>'],
  [/\b\d+([.,]\d+)? ?(ns|µs|us|ms|milliseconds?|s|secs?|seconds?|mins?|minutes?)\b/g, '<duration>'],
  [/\b(pid|process)([ =:#]+)\d+/gi, '$1$2<pid>'],
]

function steady(key: string, value: unknown): unknown {
  if (RESTLESS.test(key)) return undefined
  if (typeof value !== 'string') return value
  return RESTLESS_WORDS.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), value)
}
