import { ParleyError, TaskAction, textContent, type Observation } from '@parley/protocol'
import { defineTool } from '../define.ts'
import { UNLIMITED_MS, type Tool, type ToolContext } from '../tool.ts'
import { DEFAULT_TYPE } from './built-in.ts'
import { describeTypes } from './describe-types.ts'
import type { SubAgentEnd, SubAgents, SubAgentType } from './sub-agents.ts'

/** Runs a sub-agent on a task and waits for its result. Source: agent-core.md 12.1; agent-server-wire.md 4.8. */
export function taskTool(types?: readonly SubAgentType[]): Tool {
  return defineTool<TaskAction>({
    kind: 'Task',
    name: 'task',
    description:
      'Gives a task to a sub-agent and waits for its result. It sees the same files, but nothing of this conversation: the prompt ' +
      'has to say all that it needs to know, and what it should report. Several calls in one answer may work at the same time, so ' +
      'give each its own files. Types of sub-agents:\n' +
      `${describeTypes(types)}\n` +
      'The result begins with a task id; with `resume` set to it, the same sub-agent goes on with another prompt and remembers ' +
      'what it did.',
    parameters: {
      type: 'object',
      properties: {
        description: { type: 'string', description: 'What the task is, in three to five words.' },
        prompt: { type: 'string', description: 'The whole task: goal, what is known, and what to report.' },
        subagent_type: { type: 'string', default: DEFAULT_TYPE, description: 'One of the types above.' },
        resume: { type: 'string', description: 'Id of an earlier task that is to go on.' },
      },
      required: ['prompt'],
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    limitMs: UNLIMITED_MS,
    // Older models also send a number of turns; the limit is part of the definition.
    parse: ({ max_turns: _turns, ...args }) => TaskAction.parse({ ...args, kind: 'TaskAction' }),
    resources: () => [],
    execute,
    async recover(action, context) {
      if (!(await servedBy(context).knows(context.callId))) return { kind: 'execute' }
      return { kind: 'done', observation: await execute(action, context) }
    },
  })
}

async function execute(
  { description, prompt, subagent_type, resume }: TaskAction,
  context: ToolContext,
): Promise<Observation> {
  const asked = { callId: context.callId, description, prompt, type: subagent_type, resume }
  const end = await servedBy(context).task(asked, context.signal)
  return {
    kind: 'TaskObservation',
    content: [textContent(reported(end))],
    is_error: end.reason !== null,
    task_id: end.name,
    subagent: end.type,
    status: end.status === 'finished' ? 'completed' : end.status,
  }
}

/** @throws ParleyError `unsupported` for an agent that has no sub-agents. */
export function servedBy({ services }: Pick<ToolContext, 'services'>): SubAgents {
  if (services?.subAgents !== undefined) return services.subAgents
  throw new ParleyError('unsupported', 'There are no sub-agents here. Do the work yourself.')
}

function reported({ name, type, status, reason, text }: SubAgentEnd): string {
  const head = `Task ${name} (${type}): ${status}`
  if (reason === null) return `${head}\n\n${text}`
  const partial = text === '' ? 'It left no result.' : `What it had said so far:\n${text}`
  return `${head}. ${reason}\n\n${partial}\n\nTo let it go on, call task with resume "${name}".`
}
