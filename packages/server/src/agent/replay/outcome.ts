/** What came of a call, as far as it can be compared from one run to another. Words that tools choose themselves stay out. */
import type { ContentPart, Divergence, TreeEvent } from '@parley/protocol'
import { normalised } from './normalise.ts'
import type { Moves } from './recording.ts'

/** Null members are not compared. */
export type Outcome = {
  refused: boolean
  error: boolean
  exit_code: number | null
  output: string | null
  /** Content of the file that was written. */
  file: string | null
  task_list: string | null
  /** Process ids that may stand in the output. */
  pids: number[]
}

const NOTHING: Outcome = {
  refused: false,
  error: false,
  exit_code: null,
  output: null,
  file: null,
  task_list: null,
  pids: [],
}

/** An outcome that says only what is given. */
export const outcome = (known: Partial<Outcome>): Outcome => ({ ...NOTHING, ...known })

/** Members of observations that are compared; of recorded ones nothing else is known. */
export type Observed = { kind: string; content: readonly ContentPart[]; is_error: boolean; [member: string]: unknown }

export function outcomeOf(observation: Observed): Outcome {
  const error = observation.is_error
  switch (observation.kind) {
    case 'TerminalObservation': {
      const metadata = observation['metadata'] as { exit_code?: unknown; pid?: unknown } | null | undefined
      const exit_code = whole(observation['exit_code']) ?? whole(metadata?.exit_code)
      const pid = whole(metadata?.pid)
      return outcome({ error, exit_code, output: textOf(observation.content), pids: pid === null ? [] : [pid] })
    }
    case 'FileEditorObservation':
    case 'PlanningFileEditorObservation': {
      if (error) return outcome({ error })
      if (observation['command'] === 'view') return outcome({ output: viewed(textOf(observation.content)) })
      return outcome({ file: text(observation['new_content']) })
    }
    case 'TaskTrackerObservation':
      return outcome({ error, task_list: taskList(observation['task_list']) })
    case 'FinishObservation':
    case 'ThinkObservation':
      return outcome({ error })
    default:
      return outcome({ error, output: textOf(observation.content) })
  }
}

/** What a stored event says about a call; null when it is no answer to one. */
export function outcomeOfEvent(event: TreeEvent): Outcome | null {
  switch (event.kind) {
    case 'ObservationEvent':
      return outcomeOf(event.observation as Observed)
    case 'AgentErrorEvent':
      return outcome({ error: true })
    case 'UserRejectObservation':
      return outcome({ refused: true })
    default:
      return null
  }
}

/** The first thing in which two outcomes differ; null when there is none. `moves` brings recorded paths to ours. */
export function differ(recorded: Outcome, actual: Outcome, moves: Moves): Omit<Divergence, 'index'> | null {
  const flag = (kind: 'refused' | 'error', was: boolean, is: boolean) =>
    was === is ? null : { kind, expected: told(kind, was), actual: said(kind, is, actual) }
  const exact = (kind: 'exit_code' | 'task_list', was: string | number | null, is: string | number | null) =>
    was === null || is === null || was === is ? null : { kind, ...around(String(was), String(is)) }
  const text = (kind: 'output' | 'file', was: string | null, is: string | null) => {
    if (was === null || is === null) return null
    const [before, now] = [normalised(was, moves, recorded.pids), normalised(is, [], actual.pids)]
    return before === now ? null : { kind, ...around(before, now) }
  }
  return (
    flag('refused', recorded.refused, actual.refused) ??
    flag('error', recorded.error, actual.error) ??
    exact('exit_code', recorded.exit_code, actual.exit_code) ??
    text('output', recorded.output, actual.output) ??
    text('file', recorded.file, actual.file) ??
    exact('task_list', recorded.task_list, actual.task_list)
  )
}

const WORDS = { refused: ['not refused', 'refused'], error: ['no error', 'an error'] } as const
const told = (kind: keyof typeof WORDS, is: boolean): string => WORDS[kind][is ? 1 : 0]
const said = (kind: keyof typeof WORDS, is: boolean, { output }: Outcome): string =>
  output === null ? told(kind, is) : around('', `${told(kind, is)}: ${output}`).actual

/** Characters of each side of a difference that are kept, and how many of them stand before it. */
const MAX_CHARS = 600
const LEAD_CHARS = 100

function around(expected: string, actual: string): { expected: string; actual: string } {
  let at = 0
  while (at < expected.length && at < actual.length && expected[at] === actual[at]) at++
  const from = Math.max(0, at - LEAD_CHARS)
  const cut = (text: string) =>
    (from > 0 ? '…' : '') +
    text.slice(from, from + MAX_CHARS).toWellFormed() +
    (text.length > from + MAX_CHARS ? '…' : '')
  return { expected: cut(expected), actual: cut(actual) }
}

/** Lines of a viewed file without the sentence above them and without their numbers. */
export function viewed(shown: string): string {
  const lines = shown.split('\n')
  if (/cat -n.*:$/.test(lines[0] ?? '')) lines.shift()
  return lines.map((line) => line.replace(/^ *\d+\t/, '')).join('\n')
}

/** Title and state of each task. */
export function taskList(tasks: unknown): string | null {
  if (!Array.isArray(tasks)) return null
  return tasks
    .map((task: { title?: unknown; status?: unknown }) => `${String(task.title)}: ${String(task.status)}`)
    .join('\n')
}

export const textOf = (content: readonly ContentPart[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')

const whole = (value: unknown): number | null => (Number.isInteger(value) ? (value as number) : null)
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
