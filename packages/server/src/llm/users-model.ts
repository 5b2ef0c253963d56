/** Models of conversations that were started without one. Source: decisions.md, No model configured. */
import { LLM } from '@parley/protocol'
import { LlmError, type Llm, type OpenLlm } from './llm.ts'

/**
 * Models that fall back to the user's own where their configuration names none; the user's model is read at each request.
 * @param usersModel an LLM record of the user's settings and the server's configuration, as they are now
 */
export const withUsersModel =
  (open: OpenLlm, usersModel: () => Promise<Record<string, unknown>>): OpenLlm =>
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
          const users = { ...config, ...(await usersModel()), usage_id: config.usage_id, stream: config.stream }
          asked = open(LLM.parse(users))
          return await asked.complete(request, onDelta, signal)
        }
      },
    }
  }
