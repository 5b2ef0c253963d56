/** The outcome of a call, reduced to what can be compared between runs. Texts that tools word themselves are left out. Pure. */
import { textOf, type ContentPart, type Divergence, type TreeEvent } from '@parley/protocol'
import { normalised } from './normalise.ts'
import type { Moves } from './moves.ts'
import type { ComparedOutcome } from './recording.ts'

const NOTHING: ComparedOutcome = {
  refused: false,
  error: false,
  exit_code: null,
  output: null,
  file: null,
  task_list: null,
  pids: [],
}

/** An outcome with only the given members. */
export const outcome = (known: Partial<ComparedOutcome>): ComparedOutcome => ({ ...NOTHING, ...known })

/** The members of an observation that are compared; a recording holds no others. */
export type Observed = { kind: string; content: readonly ContentPart[]; is_error: boolean; [member: string]: unknown }

export function outcomeOf(observation: Observed): ComparedOutcome {
  const error = observation.is_error
  switch (observation.kind) {
    case 'TerminalObservation': {
      const metadata = observation['metadata'] as { exit_code?: unknown; pid?: unknown } | null | undefined
      const exit_code = whole(observation['exit_code']) ?? whole(metadata?.exit_code)
      const pid = whole(metadata?.pid)
      return outcome({ error, exit_code, output: joinedText(observation.content), pids: pid === null ? [] : [pid] })
    }
    case 'FileEditorObservation':
    case 'PlanningFileEditorObservation': {
      if (error) return outcome({ error })
      if (observation['command'] === 'view') return outcome({ output: viewedLines(joinedText(observation.content)) })
      return outcome({ file: text(observation['new_content']) })
    }
    case 'TaskTrackerObservation':
      return outcome({ error, task_list: taskList(observation['task_list']) })
    case 'FinishObservation':
    case 'ThinkObservation':
      return outcome({ error })
    default:
      return outcome({ error, output: joinedText(observation.content) })
  }
}

/** The outcome in a stored event; null when the event is not a result of a call. */
export function outcomeOfEvent(event: TreeEvent): ComparedOutcome | null {
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

/** The first difference of two outcomes; null when there is none. `moves` maps recorded paths to those of this conversation. */
export function differenceOf(
  recorded: ComparedOutcome,
  actual: ComparedOutcome,
  moves: Moves,
): Omit<Divergence, 'index'> | null {
  const flag = (kind: 'refused' | 'error', was: boolean, is: boolean) =>
    was === is ? null : { kind, expected: flagText(kind, was), actual: withOutput(kind, is, actual) }
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
const flagText = (kind: keyof typeof WORDS, is: boolean): string => WORDS[kind][is ? 1 : 0]
const withOutput = (kind: keyof typeof WORDS, is: boolean, { output }: ComparedOutcome): string =>
  output === null ? flagText(kind, is) : around('', `${flagText(kind, is)}: ${output}`).actual

/** Characters that are kept of each side of a difference, and how many of them precede it. */
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

/** The lines of a viewed file, without their heading and their numbers. */
export function viewedLines(shown: string): string {
  const lines = shown.split('\n')
  if (/cat -n.*:$/.test(lines[0] ?? '')) lines.shift()
  return lines.map((line) => line.replace(/^ *\d+\t/, '')).join('\n')
}

/** Title and status of each task; null when `tasks` is not a list. */
export function taskList(tasks: unknown): string | null {
  if (!Array.isArray(tasks)) return null
  return tasks
    .map((task: { title?: unknown; status?: unknown }) => `${String(task.title)}: ${String(task.status)}`)
    .join('\n')
}

const joinedText = (content: readonly ContentPart[]): string => textOf(content, { separator: '' })

const whole = (value: unknown): number | null => (Number.isInteger(value) ? (value as number) : null)
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
