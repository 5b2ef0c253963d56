/**
 * Other models for a call that the first one could not answer for now. Source: agent-core.md 10.5, F58.
 *
 * Rules
 *   B1. Only what may pass leads to another model, after the retries of the first: a wrong key or a request that is too long
 *       does not.
 *   B2. Every call begins with the first model again; a fallback's own fallbacks are not asked.
 *   B3. The cost counts under the first model's bucket, with the name of the model that answered.
 *   B4. When all fail, the failure of the first is what is told.
 */
import type { LLM } from '@parley/protocol'
import { LlmError, type Llm, type LlmDelta, type LlmErrorCode, type OpenLlm } from './llm.ts'

const PASSING: ReadonlySet<LlmErrorCode> = new Set([
  'LLMRateLimitError',
  'LLMTimeoutError',
  'LLMServiceUnavailableError',
  'LLMNoResponseError',
])

export type FallbackDeps = {
  /** The configuration that is stored under a name; null when there is none. */
  find: (name: string) => Promise<LLM | null>
  log: { warn(fields: object, message: string): void }
}

/** The same models, with the fallbacks that their configurations name. Looks none of them up before it is needed. */
export const withFallbacks =
  (open: OpenLlm, { find, log }: FallbackDeps): OpenLlm =>
  (config) => {
    const first = open(config)
    const names = config.fallback_strategy?.fallback_llms ?? []
    if (names.length === 0) return first
    const opened = async (name: string): Promise<Llm | null> => {
      const found = await find(name)
      return found === null
        ? null
        : open({ ...found, fallback_strategy: null, usage_id: config.usage_id, stream: config.stream })
    }
    return {
      get model() {
        return first.model
      },
      usageId: first.usageId,
      async complete(request, onDelta, signal) {
        // What watchers have seen the beginning of is not begun again by another model.
        let hasSpoken = false
        const emit = (delta: LlmDelta) => {
          hasSpoken = true
          onDelta(delta)
        }
        try {
          return await first.complete(request, emit, signal)
        } catch (error) {
          if (signal.aborted || !mayPass(error)) throw error
          for (const name of names) {
            try {
              const other = await opened(name)
              if (other === null) log.warn({ profile: name }, 'a fallback model names a profile that does not exist')
              else return await other.complete(request, hasSpoken ? () => undefined : emit, signal)
            } catch (cause) {
              if (signal.aborted) throw cause
              log.warn({ profile: name, err: cause }, 'a fallback model failed too')
            }
          }
          throw error
        }
      },
    }
  }

const mayPass = (error: unknown): boolean => error instanceof LlmError && PASSING.has(error.code)
