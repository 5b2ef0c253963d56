/**
 * What an external agent is told once, before the first message of a session: it has a system prompt of its own, and this
 * stands beside it. Pure. Source: agent-core.md 11.14; seed: ACPAgent (system_prompt, security_policy_filename, agent_context).
 */
import type { ACPAgent } from '@parley/protocol'
import { skillLines, standingKnowledge } from '../../skills/index.ts'
import { POLICY } from '../native/prompt-sections.ts'
import { rememberedNotes, repositoryKnowledge } from '../prompts/untrusted.ts'

export type ContextParts = {
  agent: ACPAgent
  /** Text of the file that `system_prompt_filename` names; null: none is named. */
  promptFile: string | null
  /** Text of the file that `security_policy_filename` names; null: the built-in policy, if any. */
  policyFile: string | null
  /** Names and descriptions of the secrets that the agent has as variables. */
  secrets: readonly { name: string; description: string | null }[]
  now: Date
}

/** Empty when there is nothing to say. */
export function sessionContext({ agent, promptFile, policyFile, secrets, now }: ContextParts): string {
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

function secretNames(secrets: ContextParts['secrets']): string {
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
