/** Starts a conversation in a directory of this machine. */
import { resolve } from 'node:path'
import type { Conversation, ParleyClient } from '@parley/client'
import type { Flags } from './args.ts'
import type { Io } from './io.ts'
import { ANALYZER, POLICIES, policyNamed, type PolicyName } from './policies.ts'

export const START_FLAGS = {
  model: {
    type: 'string',
    value: 'NAME',
    short: 'm',
    about:
      'a model profile of the server, or a model with LLM_API_KEY and LLM_BASE_URL of the environment; default: the model of the server',
  },
  workspace: {
    type: 'string',
    value: 'DIR',
    short: 'w',
    about: 'working directory of the agent (default: the current one)',
  },
} as const satisfies Flags

export type Start = { model?: string | undefined; workspace?: string | undefined; confirm: PolicyName }

const NO_AGENT = 'All agents of this user were deleted. Create one on the page Settings → Agents of the web UI.'
const NO_MODEL =
  'no model is configured. Add one in the web UI ("parley open" prints its link), or set LLM_MODEL and LLM_API_KEY for the server, ' +
  'or name one for this conversation with --model and LLM_API_KEY'

/** @throws Error without a model; CallError for a refusal of the server */
export async function startConversation(
  client: ParleyClient,
  { model, workspace, confirm }: Start,
  io: Pick<Io, 'cwd' | 'env'>,
): Promise<Conversation> {
  const working_dir = resolve(io.cwd, workspace ?? '.')
  const profile = model === undefined ? undefined : await profileNamed(client, model)
  const agent =
    model === undefined || profile !== undefined ? await serversAgent(client, model) : agentOf(model, io.env)
  const { id } = await client.start({
    ...agent,
    workspace: { kind: 'LocalWorkspace', working_dir },
    confirmation_policy: POLICIES[confirm],
    security_analyzer: confirm === 'risky' ? ANALYZER : null,
  })
  const conversation = client.conversation(id)
  if (profile !== undefined) await conversation.switchProfile(profile)
  return conversation
}

async function profileNamed(client: ParleyClient, name: string): Promise<string | undefined> {
  const { profiles } = await client.modelProfiles()
  return profiles.find((profile) => profile.name === name)?.name
}

/** The agent profile that clients offer first. */
async function serversAgent(client: ParleyClient, model: string | undefined): Promise<{ agent_profile_id: string }> {
  if (model === undefined && !(await client.me()).has_model) throw new Error(NO_MODEL)
  const { profiles, active_agent_profile_id: active } = await client.agentProfiles()
  const chosen = profiles.find(({ id }) => id === active) ?? profiles[0]
  if (chosen === undefined) throw new Error(NO_AGENT)
  return { agent_profile_id: chosen.id }
}

function agentOf(model: string, env: Io['env']) {
  const key = nonEmpty(env['LLM_API_KEY'])
  const baseUrl = nonEmpty(env['LLM_BASE_URL'])
  return {
    agent: {
      kind: 'Agent' as const,
      llm: {
        model,
        stream: true,
        ...(key === undefined ? {} : { api_key: key }),
        ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
      },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }],
    },
  }
}

/** @throws UsageError for a word that names no policy */
export const confirmOf = (word: string | undefined, otherwise: PolicyName): PolicyName =>
  word === undefined ? otherwise : policyNamed(word)

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)
