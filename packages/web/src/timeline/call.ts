/** A tool call with its result, as rows show it. Pure. */
import { contentText, type LogEvent, membersOf, type Members, numberOf, textOf, timeOf } from '../log/read.ts'

export type Call = {
  readonly event: LogEvent
  /** Name of the tool. */
  readonly tool: string
  /** Members of the action; those of the raw call when it could not be parsed. */
  readonly action: Members
  /** Kind of the action. */
  readonly kind: string
  readonly answer: LogEvent | undefined
  readonly observation: Members
  /** Text of the result. */
  readonly output: string
  readonly status: 'running' | 'done' | 'failed' | 'refused'
  /** Why it failed or was refused; empty otherwise. */
  readonly problem: string
  /** From the call to its result, in milliseconds; null while it runs. */
  readonly took: number | null
}

/** The call of an action event and of its result, as far as it is known. */
export function callOf(event: LogEvent, answer: LogEvent | undefined): Call {
  if (event.kind === 'ACPToolCallEvent') return externalCall(event, answer ?? event)
  const action = isParsed(event) ? membersOf(event['action']) : rawArguments(event)
  const observation = membersOf(answer?.['observation'])
  return {
    event,
    tool: textOf(event['tool_name']),
    action,
    kind: textOf(action['kind']),
    answer,
    observation,
    output: contentText(observation['content']),
    ...outcomeOf(answer, observation),
    took: tookOf(event, answer),
  }
}

const isParsed = (event: LogEvent) => typeof event['action'] === 'object' && event['action'] !== null

function tookOf(event: LogEvent, answer: LogEvent | undefined): number | null {
  const [from, to] = [timeOf(event.timestamp), timeOf(answer?.timestamp)]
  return from === null || to === null ? null : to - from
}

function outcomeOf(answer: LogEvent | undefined, observation: Members): Pick<Call, 'status' | 'problem'> {
  if (answer === undefined) return { status: 'running', problem: '' }
  if (answer.kind === 'UserRejectObservation') return { status: 'refused', problem: textOf(answer['rejection_reason']) }
  if (answer.kind === 'AgentErrorEvent') return { status: 'failed', problem: textOf(answer['error']) }
  const exit = numberOf(observation['exit_code'])
  const isError = observation['is_error'] === true || (exit !== null && exit !== 0)
  return { status: isError ? 'failed' : 'done', problem: '' }
}

function rawArguments(event: LogEvent): Members {
  const text = textOf(membersOf(event['tool_call'])['arguments'])
  try {
    return membersOf(JSON.parse(text))
  } catch {
    return { arguments: text }
  }
}

function externalCall(event: LogEvent, newest: LogEvent): Call {
  const status = textOf(newest['status'])
  const isOver = status === 'completed' || status === 'failed'
  return {
    event: newest,
    tool: textOf(newest['title']) || textOf(event['title']),
    action: membersOf(newest['raw_input'] ?? event['raw_input']),
    kind: 'ACPToolCall',
    answer: isOver ? newest : undefined,
    observation: membersOf(newest['raw_output']),
    output: typeof newest['raw_output'] === 'string' ? newest['raw_output'] : '',
    status: newest['is_error'] === true || status === 'failed' ? 'failed' : isOver ? 'done' : 'running',
    problem: '',
    took: isOver ? tookOf(event, newest) : null,
  }
}
