/** What a waiting batch asks about. Pure. */
import { contentText, listOf, type LogEvent, membersOf, type Members, textOf, timeOf } from '../log/read.ts'

type Reason = {
  readonly analyzer: string
  readonly rule: string
  readonly text: string
  /** Ranges of the shown text, as pairs of offsets. */
  readonly spans: readonly (readonly [number, number])[]
}

export type AskedAction = {
  readonly id: string
  readonly tool: string
  readonly risk: string
  /** Empty without one. */
  readonly summary: string
  readonly thought: string
  /** Null while the action is not loaded. */
  readonly action: Members | null
  readonly reasons: readonly Reason[]
}

export type Asked = {
  readonly batchId: string
  /** Milliseconds since 1970; null when unknown. */
  readonly since: number | null
  /** Names from the conversation's agent down to the one that asks; empty for the agent itself. */
  readonly chain: readonly string[]
  /** The policy that requires the approval, when the server says it. */
  readonly policy: unknown
  readonly actions: readonly AskedAction[]
  readonly highest: 'HIGH' | 'MEDIUM' | 'LOW' | 'UNKNOWN'
}

const ORDER = ['HIGH', 'MEDIUM', 'UNKNOWN', 'LOW'] as const

/** @param eventOf finds a loaded event by its id */
export function askedOf(request: Members, eventOf: (id: string) => LogEvent | undefined): Asked {
  const child = membersOf(request['sub_agent'])
  const isChild = listOf(child['actions']).length > 0
  const list = isChild ? child['actions'] : request['actions']
  const actions = listOf(list).map((item) => actionOf(membersOf(item), eventOf))
  const risks = new Set(actions.map(({ risk }) => risk))
  return {
    batchId: textOf(request['batch_id']),
    since: timeOf(request['asked_at']),
    chain: isChild ? [textOf(child['name']) || textOf(child['subagent'])].filter(Boolean) : [],
    policy: request['policy'],
    actions,
    highest: ORDER.find((risk) => risks.has(risk)) ?? 'UNKNOWN',
  }
}

function actionOf(item: Members, eventOf: (id: string) => LogEvent | undefined): AskedAction {
  const id = textOf(item['action_id'])
  const event = eventOf(id)
  const action = item['action'] ?? event?.['action'] ?? argumentsOf(event)
  return {
    id,
    tool: textOf(item['tool_name']) || textOf(event?.['tool_name']),
    risk: textOf(item['risk']) || textOf(event?.['security_risk']) || 'UNKNOWN',
    summary: textOf(item['summary']) || textOf(event?.['summary']),
    thought: contentText(event?.['thought']),
    action: action === undefined ? null : membersOf(action),
    reasons: listOf(item['reasons']).map((reason) => reasonOf(membersOf(reason))),
  }
}

const argumentsOf = (event: LogEvent | undefined): Members | undefined => {
  const text = membersOf(event?.['tool_call'])['arguments']
  return typeof text === 'string' ? { arguments: text } : undefined
}

const reasonOf = (reason: Members): Reason => ({
  analyzer: textOf(reason['analyzer']),
  rule: textOf(reason['rule']),
  text: textOf(reason['text']),
  spans: listOf(reason['spans']).flatMap((span) => {
    const [from, to] = Array.isArray(span) ? span : [membersOf(span)['start'], membersOf(span)['end']]
    return typeof from === 'number' && typeof to === 'number' && from < to ? [[from, to] as const] : []
  }),
})

/** The text that is decided about: a command as it is, other arguments as JSON. */
export function exactText(action: Members): string {
  if (typeof action['command'] === 'string' && typeof action['path'] !== 'string') return action['command']
  const { kind: _kind, ...rest } = action
  const members = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null))
  return JSON.stringify(action['kind'] === 'MCPToolAction' ? action['data'] : members, null, 2)
}
