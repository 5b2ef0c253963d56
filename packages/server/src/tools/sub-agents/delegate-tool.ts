import { DelegateAction, invalidInput, type Observation, textContent } from '@parley/protocol'
import { defineTool } from '../define.ts'
import { UNLIMITED_MS, type Tool, type ToolContext } from '../tool.ts'
import { DEFAULT_TYPE } from './built-in.ts'
import { describeTypes } from './describe-types.ts'
import type { SubAgentEnd, SubAgentType } from './sub-agents.ts'
import { servedBy } from './task-tool.ts'

/** Limit of delegates of one conversation at a time. Source: agent-core.md 12.1. */
export const MAX_DELEGATES = 5

/** Creates sub-agents that persist, and runs several of them in parallel. Source: agent-core.md 12.1. */
export function delegateTool(types?: readonly SubAgentType[]): Tool {
  return defineTool<DelegateAction>({
    kind: 'Delegate',
    knownAs: 'TaskTool',
    name: 'delegate',
    description:
      `Works with up to ${MAX_DELEGATES} sub-agents that stay. First spawn them: ids gives each a name, agent_types says what each ` +
      `is (${DEFAULT_TYPE} where nothing is said). Then delegate: tasks maps ids to what each is to do; all work at the same time, ` +
      'and the results come together when the last one has ended. A sub-agent remembers what it did from one task to the next, ' +
      'sees the same files, and nothing of this conversation. Types of sub-agents:\n' +
      describeTypes(types),
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'string', enum: ['spawn', 'delegate'], description: 'Make sub-agents, or have them work.' },
        ids: { type: 'array', items: { type: 'string' }, description: 'For spawn: names of your own choice.' },
        agent_types: {
          type: 'array',
          items: { type: 'string' },
          description: 'For spawn: types, in the order of ids.',
        },
        tasks: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'For delegate: the whole task of each, by id.',
        },
      },
      required: ['command'],
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    limitMs: UNLIMITED_MS,
    parse: (args) => DelegateAction.parse({ ...args, kind: 'DelegateAction' }),
    resources: () => [],
    execute,
    async recover(action, context) {
      if (!(await servedBy(context).knows(context.callId))) return { kind: 'execute' }
      return { kind: 'done', observation: await execute(action, context) }
    },
  })
}

async function execute(action: DelegateAction, context: ToolContext): Promise<Observation> {
  const { callId, signal } = context
  if (action.command === 'spawn') {
    const ids = action.ids ?? []
    const types = typesOf(ids, action.agent_types ?? [])
    await servedBy(context).spawn({ callId, ids, types }, signal)
    const made = ids.map((id, at) => `${id} (${types[at]})`).join(', ')
    return observed('spawn', `Ready: ${made}. Give them work with the command delegate.`, false)
  }
  const tasks = action.tasks ?? {}
  if (Object.keys(tasks).length === 0)
    throw invalidInput('tasks is empty; map ids of sub-agents to what each is to do.')
  const ends = await servedBy(context).delegate({ callId, tasks }, signal)
  return observed(
    'delegate',
    ends.map(reported).join('\n\n'),
    ends.every(({ reason }) => reason !== null),
  )
}

/** Missing types at the end of the list are the default type. */
function typesOf(ids: readonly string[], given: readonly string[]): string[] {
  if (ids.length === 0) throw invalidInput('ids is empty; name each sub-agent that is to be made.')
  if (new Set(ids).size < ids.length || ids.includes(''))
    throw invalidInput('ids holds a name twice, or an empty one; give each sub-agent its own name.')
  if (given.length > ids.length) throw invalidInput(`agent_types has ${given.length} entries for ${ids.length} ids.`)
  return ids.map((_, at) => given[at] ?? DEFAULT_TYPE)
}

function observed(command: 'spawn' | 'delegate', text: string, is_error: boolean): Observation {
  return { kind: 'DelegateObservation', content: [textContent(text)], is_error, command }
}

function reported({ name, type, status, reason, text }: SubAgentEnd): string {
  const head = `${name} (${type}): ${status}`
  if (reason === null) return `${head}\n${text}`
  return `${head}. ${reason}\n${text === '' ? 'It left no result.' : `What it had said so far:\n${text}`}`
}
