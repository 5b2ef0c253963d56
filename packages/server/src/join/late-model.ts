/**
 * The model of a conversation that was started before there was one: whatever its user has set up by the time it is asked.
 * Source: design.md 4, "No model configured".
 */
import { LLM } from '@parley/protocol'
import { LlmError, type Llm, type OpenLlm } from '../llm/index.ts'

/**
 * @param usersModel an LLM record of the user's settings and the server's configuration, as they are now.
 * @returns models that, where their own configuration names none, are the user's at each request.
 */
export const lateLlm =
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
