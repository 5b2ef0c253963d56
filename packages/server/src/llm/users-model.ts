/** Models of conversations that were started without one. Source: decisions.md, No model configured. */
import { LLM } from '@parley/protocol'
import { LlmError, type Llm, type OpenLlm } from './llm.ts'

/** An LLM record of the user's settings and the server's configuration, as they are now. */
type UsersModel = Readonly<Record<string, unknown>>

/** Members that belong to one address. Those of a replaced configuration are dropped together, so that no key meets a foreign address. */
const CONNECTION = {
  api_key: true,
  base_url: true,
  ollama_base_url: true,
  provider_connection_id: true,
  auth_type: true,
  subscription_vendor: true,
  api_version: true,
  extra_headers: true,
  litellm_extra_body: true,
} as const satisfies Partial<Record<keyof LLM, true>>

/**
 * The user's model with the other members of a configuration that cannot be used as it is. Null for a configuration that names an
 * address: it has a model of its own, whose error is reported.
 */
export function usersModelFor(config: LLM, users: UsersModel): LLM | null {
  const isBlank = (text: string | null) => text === null || text.trim() === ''
  if (!isBlank(config.base_url) || !isBlank(config.ollama_base_url)) return null
  const kept = Object.entries(config).filter(([name]) => !Object.hasOwn(CONNECTION, name))
  return LLM.parse({ ...Object.fromEntries(kept), ...users, usage_id: config.usage_id, stream: config.stream })
}

/** Models that fall back to the user's own where their configuration names none; the user's model is read at each request. */
export const withUsersModel =
  (open: OpenLlm, usersModel: () => Promise<UsersModel>): OpenLlm =>
  (config) => {
    const own = open(config)
    let asked: Llm = own
    return {
      get model() {
        return asked.model
      },
      usageId: own.usageId,
      async complete(request, onDelta, signal) {
        try {
          return await (asked = own).complete(request, onDelta, signal)
        } catch (error) {
          if (!(error instanceof LlmError) || error.code !== 'LLMNotConfigured') throw error
          const users = usersModelFor(config, await usersModel())
          if (users === null) throw error
          asked = open(users)
          return await asked.complete(request, onDelta, signal)
        }
      },
    }
  }
