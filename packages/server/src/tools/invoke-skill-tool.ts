/** Returns the text of a skill to the model, by name. Source: agent-core.md 6.5, 8.6; F15. */
import {
  type AgentContext,
  invalidInput,
  InvokeSkillAction,
  isInvocable,
  skillsInForce,
  textContent,
} from '@parley/protocol'
import { commandsIn } from '../lib/index.ts'
import { defineTool } from './define.ts'
import { unlessUnknown, type Tool } from './tool.ts'

/** Returns the tool for an agent with this context. With a skill that contains commands, it is not read-only. */
export function invokeSkillTool(context: AgentContext | null): Tool {
  const skills = skillsInForce(context).filter(isInvocable)
  const runs = skills.some(({ content }) => commandsIn(content).length > 0)
  const tool = defineTool<InvokeSkillAction>({
    kind: 'InvokeSkill',
    name: 'invoke_skill',
    description:
      'Gives you the whole text of one of the skills that are listed by name. Ask for a skill before you begin work that it is ' +
      'about, and follow what it says; its files, if it has any, are in the folder that the answer names.',
    parameters: {
      type: 'object',
      properties: { name: { type: 'string', description: 'The name of the skill, as it is listed.' } },
      required: ['name'],
    },
    annotations: { readOnlyHint: !runs, destructiveHint: runs, idempotentHint: true, openWorldHint: runs },
    parse: (args) => InvokeSkillAction.parse({ ...args, kind: 'InvokeSkillAction' }),
    resources: ({ name }) => [`skill:${name.trim()}`],
    recover: async (_, __, ledger) => (runs ? unlessUnknown(ledger) : { kind: 'execute' }),
    async execute({ name }, { callId, workspace, services, signal }) {
      const service = services?.skills
      if (service === undefined) throw invalidInput('This agent has no skills.')
      const { text, isError } = await service.invoke(name, { callId, workspace, signal })
      return {
        kind: 'InvokeSkillObservation',
        content: [textContent(text)],
        is_error: isError,
        skill_name: name.trim(),
      }
    },
  })
  return {
    ...tool,
    impliedCommands: (action) => {
      const name = action.kind === 'InvokeSkillAction' ? action.name.trim() : null
      return skills.filter((skill) => skill.name === name).flatMap(({ content }) => commandsIn(content))
    },
  }
}
