/**
 * The content of `replay_json`: a recorded trajectory as JSON text, in events of this API or in the older trajectory
 * format, as an
 * array or as the object of an export. Errors that can be detected from the text are reported at request time, with the
 * element's index in `loc`.
 * Source: interface.md, New Conversation; conversation-service.md 1.3.
 */
import { z } from 'zod'
import { CONTROL_KINDS, TREE_KINDS } from './event.ts'
import { EventSource } from './events/base.ts'
import { ContentPart } from './events/message.ts'
import { isRecord } from './is-record.ts'
import { findJsonFault, MAX_JSON_VALUES } from './json-scan.ts'
import { type IssueParams, laxBoolean } from './lax.ts'
import {
  isSilentAction,
  isSilentObservation,
  V0_ACTIONS,
  V0_OBSERVATIONS,
  V0Action,
  V0Observation,
} from './trajectory-v0.ts'
import { outcomeOf } from './unions.ts'
import { list, LIST_LIMITS } from './lists.ts'

const DivergenceKind = z.enum(['refused', 'error', 'exit_code', 'output', 'file', 'task_list'])

export const Divergence = z.strictObject({
  /** Position of the recorded result in the recording, from 0. */
  index: z.int(),
  /** The kind of difference. */
  kind: DivergenceKind,
  /** Both texts are cut to the surroundings of the first difference. */
  expected: z.string(),
  actual: z.string(),
})
/** A result that differs from the recorded one. */
export type Divergence = z.infer<typeof Divergence>

export const ReplayProgress = z.strictObject({
  /** Recorded model answers and user messages that have been played, without the first message. */
  position: z.int().min(0),
  total: z.int().min(0),
  divergences: z.int().min(0),
  first_divergence: Divergence.nullable(),
  /** Positions of the results of the newest answer that are already counted. */
  noted: z.array(z.int()),
})
/** Progress of a replay: the value of the state key `replay`. */
export type ReplayProgress = z.infer<typeof ReplayProgress>

const content = list(ContentPart, { max: LIST_LIMITS.recorded }).default([])
const owned = <const K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z.looseObject({ kind: z.literal(kind), ...shape })

/** Events in a replay: open records, because other servers of this wire may send more members. */
export const RecordedEvent = z.discriminatedUnion('kind', [
  owned('MessageEvent', {
    source: EventSource,
    llm_message: z.looseObject({ content, reasoning_content: z.string().nullish() }),
  }),
  owned('ActionEvent', {
    id: z.string(),
    thought: content,
    reasoning_content: z.string().nullish(),
    action: z.looseObject({ kind: z.string() }).nullish(),
    tool_call_id: z.string(),
    tool_call: z.looseObject({ name: z.string(), arguments: z.string() }),
    llm_response_id: z.string(),
  }),
  owned('ObservationEvent', {
    tool_call_id: z.string(),
    action_id: z.string().nullish(),
    observation: z.looseObject({ kind: z.string(), content, is_error: laxBoolean().default(false) }),
  }),
  owned('UserRejectObservation', {
    tool_call_id: z.string(),
    action_id: z.string().nullish(),
    rejection_reason: z.string().default('User rejected the action'),
    rejection_source: z.enum(['user', 'hook']).default('user'),
  }),
  owned('AgentErrorEvent', { tool_call_id: z.string(), error: z.string() }),
  owned('SystemPromptEvent', { dynamic_context: z.looseObject({ text: z.string() }).nullish() }),
])
export type RecordedEvent = z.infer<typeof RecordedEvent>

let played: ReadonlySet<string> | undefined
/** Made on first use: most processes replay nothing, and this makes the schemas of all members. */
const isPlayed = (kind: string): boolean =>
  (played ??= new Set(RecordedEvent.options.map(({ shape }) => shape.kind.value))).has(kind)
const LIVE_KINDS = ['ConversationStateUpdateEvent', 'StreamingDeltaEvent', 'ServerErrorEvent']
const KNOWN: ReadonlySet<string> = new Set([...TREE_KINDS, ...CONTROL_KINDS, ...LIVE_KINDS])

/** One element that matters to a replay, and its position in the array. */
export type ReplayElement =
  | { index: number; dialect: 'events'; element: RecordedEvent }
  | { index: number; dialect: 'v0-action'; element: V0Action }
  | { index: number; dialect: 'v0-observation'; element: V0Observation }

/** A valid recording. */
export type ReplayFile = {
  /** The first is the user's message. */
  elements: [ReplayElement, ...ReplayElement[]]
  /** Working directory of the recorded conversation, if the export has it. */
  working_dir: string | null
}

type Issue = z.core.$ZodRawIssue

/** Further issues are not reported. */
const MAX_ISSUES = 20
/** Deepest nesting of an element. */
const MAX_DEPTH = 200
const TOO_DEEP = `an element is nested deeper than ${MAX_DEPTH} levels`

function issue(path: PropertyKey[], input: unknown, message: string, params: IssueParams): Issue {
  return { code: 'custom', path, input, message, params }
}
const refused = (path: PropertyKey[], input: unknown, text: string): Issue =>
  issue(path, input, `Value error, ${text}`, { type: 'value_error', ctx: { error: {} } })

/** Around an element there are a list and, in an export, an object. */
const SCAN_LIMITS = { depth: MAX_DEPTH + 2, values: MAX_JSON_VALUES }

/** Parses the text of a recording. Pure; never throws for bad input. */
export function readReplay(text: string): { file: ReplayFile } | { issues: Issue[] } {
  const fault = findJsonFault(new TextEncoder().encode(text), SCAN_LIMITS)
  if (fault?.kind === 'too_deep') return { issues: [refused([], {}, TOO_DEEP)] }
  if (fault?.kind === 'too_many')
    return { issues: [refused([], {}, `the recording has more than ${MAX_JSON_VALUES} JSON values`)] }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    // The message of the JavaScript engine may quote the text, which may contain anything.
    const { message } = error as Error
    const at = /at position (\d+)/.exec(message)?.[1]
    const reason = /end of JSON/.test(message)
      ? 'the text ends too early'
      : at === undefined
        ? 'not JSON'
        : `not JSON at character ${at}`
    return { issues: [issue([], {}, 'JSON decode error', { type: 'json_invalid', ctx: { error: reason } })] }
  }
  const found = arrayIn(parsed)
  if ('refusal' in found) return { issues: [found.refusal] }
  return readElements(found.array, found.working_dir)
}

function arrayIn(parsed: unknown): { array: unknown[]; working_dir: string | null } | { refusal: Issue } {
  if (Array.isArray(parsed)) return { array: parsed, working_dir: null }
  const member = isRecord(parsed) ? ['trajectory', 'events'].find((name) => name in parsed) : undefined
  const inner = member === undefined ? parsed : (parsed as Record<string, unknown>)[member]
  if (!Array.isArray(inner)) {
    return {
      refusal: issue(member === undefined ? [] : [member], inner, 'Input should be a valid list', {
        type: 'list_type',
      }),
    }
  }
  const { working_dir } = parsed as Record<string, unknown>
  return {
    array: inner,
    working_dir: typeof working_dir === 'string' && working_dir.startsWith('/') ? working_dir : null,
  }
}

function readElements(
  array: readonly unknown[],
  working_dir: string | null,
): { file: ReplayFile } | { issues: Issue[] } {
  const issues: Issue[] = []
  const elements: ReplayElement[] = []
  for (const [index, value] of array.entries()) {
    const { read, wrong } = readElement(index, value)
    for (const one of wrong) issues.push({ ...one, path: [index, ...(one.path ?? [])] })
    if (read !== null) elements.push(read)
    if (issues.length >= MAX_ISSUES) break
  }
  if (issues.length > 0) return { issues: issues.slice(0, MAX_ISSUES) }
  const at = elements.findIndex((element) => !isPrelude(element))
  const first = elements[at]
  if (first === undefined)
    return { issues: [refused([], array, 'the recording holds no message of the user to begin with')] }
  if (!isUserMessage(first)) {
    const text =
      'the recording must begin with a message of the user; system and environment elements may stand before it'
    return { issues: [refused([first.index], array[first.index], text)] }
  }
  const prompts = elements.slice(0, at).filter(({ dialect }) => dialect === 'events')
  return { file: { elements: [first, ...prompts, ...elements.slice(at + 1)], working_dir } }
}

function readElement(index: number, value: unknown): { read: ReplayElement | null; wrong: Issue[] } {
  const no = (...wrong: Issue[]) => ({ read: null, wrong })
  if (!isRecord(value)) {
    return no(
      issue([], value, 'Input should be a valid dictionary or object to extract fields from', {
        type: 'model_attributes_type',
      }),
    )
  }
  if (!isBearable(value, MAX_DEPTH)) return no(refused([], {}, TOO_DEEP))
  if (typeof value['kind'] === 'string') return readEvent(index, value, value['kind'])
  if ('action' in value) {
    const wrong = member(value, 'action', V0_ACTIONS)
    return wrong === null ? parsed(V0Action, value, (element) => ({ index, dialect: 'v0-action', element })) : no(wrong)
  }
  if ('observation' in value) {
    const wrong = member(value, 'observation', V0_OBSERVATIONS)
    return wrong === null
      ? parsed(V0Observation, value, (element) => ({ index, dialect: 'v0-observation', element }))
      : no(wrong)
  }
  return no(refused([], value, 'an element needs a kind, an action or an observation'))
}

function readEvent(
  index: number,
  value: Record<string, unknown>,
  kind: string,
): { read: ReplayElement | null; wrong: Issue[] } {
  if (isPlayed(kind)) return parsed(RecordedEvent, value, (element) => ({ index, dialect: 'events', element }))
  if (KNOWN.has(kind)) return { read: null, wrong: [] }
  return { read: null, wrong: [refused(['kind'], kind, `Unknown kind '${kind.slice(0, 100)}' for Event`)] }
}

function member(value: Record<string, unknown>, name: string, known: readonly string[]): Issue | null {
  const given = value[name]
  if (typeof given === 'string' && known.includes(given)) return null
  const words = known.map((word) => `'${word}'`)
  const expected = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
  return issue([name], given, `Input should be ${expected}`, { type: 'enum', ctx: { expected } })
}

function parsed<T>(
  schema: z.ZodType<T>,
  value: Record<string, unknown>,
  made: (element: T) => ReplayElement,
): { read: ReplayElement | null; wrong: Issue[] } {
  const { output, issues } = outcomeOf(schema, value)
  return issues.length > 0
    ? { read: null, wrong: issues.map((one) => withOwner(one, value)) }
    : { read: made(output as T), wrong: [] }
}

/** The issue of a missing member includes its record, which cannot be found from the path alone. */
function withOwner(one: Issue, root: Record<string, unknown>): Issue {
  let owner: unknown = root
  for (const key of (one.path ?? []).slice(0, -1))
    owner = isRecord(owner) || Array.isArray(owner) ? (owner as never)[key] : null
  const params = (one as { params?: Partial<IssueParams> }).params
  return { ...one, params: { ...params, owner } } as Issue
}

function isBearable(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return left > 0 && Object.values(value).every((inner) => isBearable(inner, left - 1))
}

/** Elements that the framework writes before the first message. */
function isPrelude(element: ReplayElement): boolean {
  switch (element.dialect) {
    case 'v0-action':
      return element.element.source === 'environment' || isSilentAction(element.element.action)
    case 'v0-observation':
      return element.element.source === 'environment' || isSilentObservation(element.element.observation)
    case 'events': {
      const { element: event } = element
      return (
        event.kind === 'SystemPromptEvent' ||
        (event.kind === 'MessageEvent' && !['user', 'agent'].includes(event.source))
      )
    }
  }
}

function isUserMessage(element: ReplayElement): boolean {
  if (element.dialect === 'events') return element.element.kind === 'MessageEvent' && element.element.source === 'user'
  return element.dialect === 'v0-action' && element.element.action === 'message' && element.element.source !== 'agent'
}

const check = z.transform((value: unknown, ctx) => {
  if (typeof value !== 'string' || value === '') return value
  const read = readReplay(value)
  if ('issues' in read) ctx.issues.push(...read.issues)
  return value
})

/** Text that `readReplay` accepts; empty text counts as absent. */
export const ReplayText = z.pipe(check, z.string() as never) as unknown as z.ZodType<string, string>
