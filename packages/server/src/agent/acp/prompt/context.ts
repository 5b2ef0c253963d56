/**
 * Context that an external agent gets once, before the first message of a session, in addition to its own system prompt.
 * Pure. Source: agent-core.md 11.14; interface.md, ACPAgent.
 */
import type { ACPAgent } from '@parley/protocol'
import { skillLines, standingKnowledge } from '../../../skills/index.ts'
import { POLICY } from '../../prompts/sections.ts'
import { rememberedNotes, repositoryKnowledge } from '../../prompts/untrusted.ts'

export type SessionContextInput = {
  agent: ACPAgent
  /** Text of the file in `system_prompt_filename`; null: no file. */
  promptFile: string | null
  /** Text of the file in `security_policy_filename`; null: no file, so the built-in policy applies unless it is turned off. */
  policyFile: string | null
  /** Names and descriptions of the secrets that the agent has as environment variables. */
  secrets: readonly { name: string; description: string | null }[]
  now: Date
}

/** The context as one text; empty when no section has content. */
export function sessionContext({ agent, promptFile, policyFile, secrets, now }: SessionContextInput): string {
  const { agent_context: context } = agent
  const skills = skillLines(context)
  const sections = [
    agent.system_prompt ?? promptFile ?? '',
    agent.security_policy_filename === '' ? '' : (policyFile ?? POLICY),
    repositoryKnowledge(standingKnowledge(context, agent.llm.model)),
    rememberedNotes(context?.memory_context),
    skills === '' ? '' : section('skills', `Knowledge that is given to you when a message asks for it:\n${skills}`),
    context?.system_message_suffix?.trim() ?? '',
    secretNames(secrets),
    context === null || context.current_datetime === null ? '' : timeOf(context.current_datetime, now),
  ]
  return sections.filter((text) => text !== '').join('\n\n')
}

function secretNames(secrets: SessionContextInput['secrets']): string {
  if (secrets.length === 0) return ''
  const rows = secrets.map(({ name, description }) =>
    description === null ? `- $${name}` : `- $${name}: ${oneLine(description)}`,
  )
  const usage = 'These secrets are set as environment variables. Use the variable; never print, store or send a value.'
  return section('secrets', `${usage}\n${rows.join('\n')}`)
}

const timeOf = (given: string | undefined, now: Date): string =>
  section('current_time', `The conversation began at ${given ?? `${now.toISOString().slice(0, 16)}Z`}.`)

const section = (name: string, text: string): string => `<${name}>\n${text}\n</${name}>`
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 300)
