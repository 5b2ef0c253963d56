/** The name of a model in the settings and the parts from which a person chooses. */

/** Providers that the page offers first, in this order; `other` stands for the rest. */
export const MAIN_PROVIDERS = ['openai', 'anthropic', 'gemini', 'openrouter', 'ollama', 'other'] as const
export type MainProvider = (typeof MAIN_PROVIDERS)[number]

/** A server that understands OpenAI's API, at an address that the person names. Not a prefix of names. */
export const COMPATIBLE = 'compatible'

/** Other spellings of a main provider, and clouds whose address is a compatible one. */
const HIDDEN = new Set(['google', 'ollama_chat', ...MAIN_PROVIDERS])
const NEEDS_ADDRESS = new Set([COMPATIBLE, 'azure', 'azure_ai', 'litellm_proxy', 'hosted_vllm', 'vllm'])
const TAKES_ADDRESS = new Set([...NEEDS_ADDRESS, 'ollama', 'lm_studio', 'llamafile'])
const NEEDS_NO_KEY = new Set([COMPATIBLE, 'ollama', 'lm_studio', 'llamafile', 'hosted_vllm', 'vllm', 'litellm_proxy'])

const BARE: readonly [RegExp, string][] = [
  [/^(gpt-|chatgpt-|o[1-9](-|$)|codex)/i, 'openai'],
  [/^claude-/i, 'anthropic'],
  [/^gemini-/i, 'gemini'],
]
const ALIASES: Readonly<Record<string, string>> = { google: 'gemini', ollama_chat: 'ollama' }

export type ModelParts = {
  /** A prefix of names, or `COMPATIBLE`. */
  readonly provider: string
  /** Without the prefix. */
  readonly name: string
  /** Base URL; empty: that of the provider. */
  readonly address: string
}

export const needsAddress = (provider: string): boolean => NEEDS_ADDRESS.has(provider)
export const takesAddress = (provider: string): boolean => TAKES_ADDRESS.has(provider)
export const needsKey = (provider: string): boolean => !NEEDS_NO_KEY.has(provider)

/** The providers of the server behind the choice `other`. */
export const otherProviders = (all: readonly string[]): string[] => all.filter((one) => !HIDDEN.has(one))

/** The choice that a provider belongs to. */
export const mainOf = (provider: string): MainProvider => MAIN_PROVIDERS.find((one) => one === provider) ?? 'other'

/** The parts of a stored model. OpenAI's prefix at another address only says which API the server there has. */
export function partsOf(model: string | null, baseUrl: string | null): ModelParts {
  const address = baseUrl ?? ''
  if (model === null) return { provider: 'openai', name: '', address }
  const [, prefix = '', rest = ''] = /^([^/]*)\/(.*)$/s.exec(model) ?? []
  const named = BARE.find(([pattern]) => pattern.test(model))?.[1]
  const provider = prefix === '' ? (named ?? COMPATIBLE) : (ALIASES[prefix] ?? prefix)
  if (provider === 'openai' && address !== '') return { provider: COMPATIBLE, name: rest || model, address }
  return { provider, name: prefix === '' ? model : rest, address }
}

/** The name for the settings. */
export const modelOf = ({ provider, name }: ModelParts): string =>
  `${provider === COMPATIBLE ? 'openai' : provider}/${name.trim()}`
