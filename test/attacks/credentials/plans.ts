/** Random uses of models, keys and addresses by a user, for the campaign about the credentials of the operator. */
import fc from 'fast-check'
import { canary } from '../../../packages/server/testing/canaries/values.ts'
import { SERVER_CREDENTIAL } from '../../../packages/server/src/secrets/index.ts'

/** The model key of the operator, and its address. */
export const OPERATORS_KEY = canary('llm_key')
export const OPERATORS_MODEL = 'openai/of-the-server'

/** Key of a model: one of the user; none; the reference, or the key of the operator, as records of version 0.1.0 have it. */
const KEYS = ['own', 'none', 'reference', 'operators'] as const
/** Address of a model: one of the user, in several spellings; none; the operator's. */
const ADDRESSES = ['versioned', 'bare', 'with a user', 'none', 'operators'] as const
const MODELS = [
  'openai/',
  'openai/x',
  'gpt-x',
  'claude-x',
  'anthropic/x',
  'gemini/x',
  'x',
  'ollama/x',
  'litellm_proxy/x',
  OPERATORS_MODEL,
]

export type LlmPlan = {
  model: string
  key: (typeof KEYS)[number]
  address: (typeof ADDRESSES)[number]
  ollama: boolean
  mode: 'auto' | 'chat' | 'responses'
  header: 'none' | 'Host' | 'Authorization'
  prompted: boolean
}

const llmPlan: fc.Arbitrary<LlmPlan> = fc
  .record({
    model: fc.constantFrom(...MODELS),
    key: fc.constantFrom(...KEYS),
    address: fc.constantFrom(...ADDRESSES),
    ollama: fc.boolean(),
    mode: fc.constantFrom('auto', 'chat', 'responses'),
    header: fc.constantFrom('none', 'Host', 'Authorization'),
    prompted: fc.boolean(),
  })
  // Without an address, a key of the user leads to the vendor, and Ollama to this machine: tests request neither.
  .filter(
    ({ key, address, model }) => address !== 'none' || (['none', 'reference'].includes(key) && model !== 'ollama/x'),
  )

/** How a model comes into a conversation. */
const WAYS = [
  'agent',
  'agent_settings',
  'settings',
  'default profile',
  'agent profile',
  'switch_llm',
  'switch_profile',
  'gateway',
] as const
/** What else of a conversation sends requests to addresses that its user names, from this server. */
export const OWN_PARTS = [
  'critic',
  'condenser',
  'title',
  'hook',
  'mcp',
  'vendor',
  'guardrail',
  'fallback',
  'goal',
  'ask',
  'validate',
] as const
/** The same, and another agent server. */
const PARTS = [...OWN_PARTS, 'remote'] as const

export type Plan = {
  way: (typeof WAYS)[number]
  parts: readonly (typeof PARTS)[number][]
  llm: LlmPlan
  other: LlmPlan
}

const plan: fc.Arbitrary<Plan> = fc.record({
  way: fc.constantFrom(...WAYS),
  parts: fc.subarray([...PARTS], { maxLength: 6 }),
  llm: llmPlan,
  other: llmPlan,
})

export const planOf = (seed: number): Plan => fc.sample(plan, { seed, numRuns: 1 })[0]!

export type Addresses = { users: string; operators: string }

/** The key of a plan; null: none. */
export function keyOf(key: LlmPlan['key']): string | null {
  return { own: 'a-key-of-the-user', none: null, reference: SERVER_CREDENTIAL, operators: OPERATORS_KEY }[key]
}

/** The record of a model as a request has it. */
export function llmOf({ model, key, address, ollama, mode, header, prompted }: LlmPlan, at: Addresses): object {
  const users = at.users.replace('http://', 'http://someone@')
  const base_url = {
    versioned: `${at.users}/v1`,
    bare: at.users,
    'with a user': `${users}/v1`,
    none: null,
    operators: at.operators,
  }[address]
  const headers = {
    none: null,
    Host: { Host: new URL(at.users).host },
    Authorization: { Authorization: `Bearer ${SERVER_CREDENTIAL}` },
  }
  return {
    model,
    api_key: keyOf(key),
    base_url,
    api_mode: mode,
    native_tool_calling: !prompted,
    extra_headers: headers[header],
    num_retries: 0,
    timeout: 10,
    ...(ollama ? { ollama_base_url: at.users } : {}),
  }
}
