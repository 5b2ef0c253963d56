/** Carries a plan out as a user of its own. */
import { expect } from 'vitest'
import { until } from '../../../packages/server/testing/until.ts'
import { keyOf, llmOf, type Addresses, type LlmPlan, type Plan } from './plans.ts'

type Call = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: any }>

type Played = { call: Call; plan: Plan; at: Addresses; workingDir: string }

const HELLO = [{ type: 'text', text: 'hello' }]
const RESTING = ['finished', 'error', 'stuck', 'paused', 'waiting_for_confirmation']

/** Starts a conversation as the plan says, lets it work, and deletes it. No answer is a fault of the server. */
export async function play({ call: ask, plan, at, workingDir }: Played): Promise<void> {
  const call: Call = async (method, path, body) => {
    const answer = await ask(method, path, body)
    expect([path, answer.status < 500 ? 'answered' : JSON.stringify(answer.body)]).toEqual([path, 'answered'])
    return answer
  }
  const [llm, other] = [llmOf(plan.llm, at), llmOf(plan.other, at)]
  const has = (part: Plan['parts'][number]) => plan.parts.includes(part)
  await call('POST', '/api/profiles/kept', {
    llm: has('fallback') ? { ...llm, fallback_strategy: { fallback_llms: ['spare'] } } : llm,
  })
  await call('POST', '/api/profiles/spare', { llm: other })
  if (has('validate')) await call('POST', '/api/profiles/kept/validate', { llm })
  const start = { ...membersOf(plan, at), workspace: workspaceOf(plan, at, workingDir) }
  const id = await started(call, plan, start, llm)
  if (id === null) return
  const path = `/api/conversations/${id}`
  const rests = () =>
    until(async () => {
      const { body } = await call('GET', path)
      return RESTING.includes(body.execution_status) || has('remote')
    })
  await rests()
  if (plan.way === 'switch_llm') await call('POST', `${path}/switch_llm`, { llm })
  if (plan.way === 'switch_profile') await call('POST', `${path}/switch_profile`, { profile_name: 'kept' })
  await call('POST', `${path}/events`, { content: HELLO, run: true })
  await rests()
  if (has('ask')) await call('POST', `${path}/ask_agent`, { question: 'why?' }).catch(() => undefined)
  if (has('condenser')) await call('POST', `${path}/condense`)
  if (has('goal')) await call('POST', `${path}/goal`, { objective: 'all is done', max_iterations: 1 })
  await rests()
  await call('DELETE', path)
}

/** The id of the conversation; null when the request was refused. */
async function started(call: Call, plan: Plan, start: object, llm: object): Promise<string | null> {
  const idOf = ({ body }: { body: any }): string | null => body?.conversation_id ?? body?.id ?? null
  const begin = (members: object) => call('POST', '/api/conversations', { ...start, ...members })
  switch (plan.way) {
    case 'settings':
      await call('PATCH', '/api/settings', { agent_settings_diff: { llm, verification: verificationOf(plan) } })
      return idOf(await call('POST', '/api/conversations', { initial_user_msg: 'hello' }))
    case 'agent_settings':
      return idOf(await begin({ agent: undefined, agent_settings: { llm, verification: verificationOf(plan) } }))
    case 'default profile':
    case 'agent profile': {
      const isDefault = plan.way === 'default profile'
      if (isDefault) await call('PATCH', '/api/settings', { agent_settings_diff: { llm } })
      const { profiles } = (await call('GET', '/api/agent-profiles')).body
      const { id } = profiles[0]
      const { critic_api_key: _, ...verification } = verificationOf(plan)
      const profile = {
        agent_kind: 'openhands',
        id,
        name: 'default',
        llm_profile_ref: isDefault ? 'default' : 'kept',
        verification,
      }
      await call('POST', '/api/agent-profiles/default', profile)
      return idOf(await begin({ agent: undefined, agent_profile_id: id }))
    }
    case 'gateway': {
      const { body } = await call('POST', '/v1/chat/completions', {
        model: 'kept',
        messages: [{ role: 'user', content: 'hello' }],
      })
      return body?.conversation_id ?? null
    }
    case 'agent':
    case 'switch_llm':
    case 'switch_profile':
      return idOf(await begin({}))
  }
}

/** The critic that a plan names in settings: at the address of the user. */
const verificationOf = ({ parts, other }: Plan) => ({
  critic_enabled: parts.includes('critic'),
  critic_server_url: CRITIC.url,
  critic_api_key: keyOf(other.key),
})
/** Set once for all plans, because settings have no place for the address of a plan. */
export const CRITIC = { url: 'http://127.0.0.1:9' }

function workspaceOf({ parts, other }: Plan, at: Addresses, working_dir: string): object {
  if (!parts.includes('remote')) return { working_dir }
  return { kind: 'RemoteWorkspace', working_dir: '/work', host: at.users, api_key: keyOf(other.key), read_timeout: 2 }
}

/** Members of a start request in which a user names addresses and keys. */
function membersOf({ parts, llm, other, way }: Plan, at: Addresses): object {
  const has = (part: Plan['parts'][number]) => parts.includes(part)
  const model = (plan: LlmPlan, usage_id: string) => ({ ...llmOf(plan, at), usage_id })
  const isSwitched = way === 'switch_llm' || way === 'switch_profile'
  const key = keyOf(other.key)
  const agent = {
    kind: 'Agent',
    tools: [],
    llm: isSwitched ? { model: 'openai/x', base_url: `${at.users}/v1`, num_retries: 0 } : model(llm, 'agent'),
    ...(has('condenser') ? { condenser: { kind: 'LLMSummarizingCondenser', llm: model(other, 'condenser') } } : {}),
    ...(has('critic')
      ? { critic: { kind: 'APIBasedCritic', server_url: at.users, api_key: key, timeout_seconds: 5 } }
      : {}),
    ...(has('mcp') ? { mcp_config: mcpOf(at, key) } : {}),
  }
  const analyzers = [
    ...(has('vendor') ? [{ kind: 'VendorAnalyzer', api_url: `${at.users}/vendor`, api_key: key, timeout: 5 }] : []),
    ...(has('guardrail') ? [{ kind: 'GuardrailLLMSecurityAnalyzer', llm: model(other, 'guardrail') }] : []),
  ]
  const hook = { type: 'prompt', prompt: 'may it?', name: 'asks', timeout: 5 }
  return {
    agent,
    initial_message: { content: HELLO },
    ...(analyzers.length > 0 ? { security_analyzer: { kind: 'EnsembleSecurityAnalyzer', analyzers } } : {}),
    ...(has('hook') ? { hook_config: { user_prompt_submit: [{ matcher: '*', hooks: [hook] }] } } : {}),
    ...(has('title') ? { title_llm_profile: 'spare' } : { autotitle: false }),
  }
}

const mcpOf = ({ users }: Addresses, key: string | null): object => ({
  header: { url: `${users}/mcp`, headers: { Authorization: `Bearer ${key ?? 'x'}` } },
  bearer: { url: `${users}/sse`, transport: 'sse', auth: { strategy: 'bearer', value: key ?? 'x' } },
})
