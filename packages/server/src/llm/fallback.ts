/**
 * Other models for a call that the first model cannot answer at the moment. Source: agent-core.md 10.5; F58.
 *
 * Rules
 * B1. Only a temporary failure leads to another model, after the retries of the first: a wrong key or a request that is
 *       too
 *       long does not.
 *   B2. Every call begins with the first model again; the fallbacks of a fallback are not used.
 *   B3. The cost counts under the first model's bucket, with the name of the model that answered.
 *   B4. When all models fail, the failure of the first is thrown.
 */
import type { Log } from '../observability/index.ts'
import type { LLM } from '@parley/protocol'
import { LlmError, TEMPORARY_FAILURES, type Llm, type LlmDelta, type OpenLlm } from './llm.ts'

export type FallbackDeps = {
  /** Returns the configuration stored under a name; null when there is none. */
  find: (name: string) => Promise<LLM | null>
  log: Pick<Log, 'warn'>
}

/**
 * Opens models together with the fallbacks that their configurations name. A fallback is looked up when it is needed.
 */
export const withFallbacks =
  (open: OpenLlm, { find, log }: FallbackDeps): OpenLlm =>
  (config) => {
    const first = open(config)
    const names = config.fallback_strategy?.fallback_llms ?? []
    if (names.length === 0) return first
    const shared = { fallback_strategy: null, usage_id: config.usage_id, stream: config.stream }
    const opened = async (name: string): Promise<Llm | null> => {
      const found = await find(name)
      return found === null
        ? null
        : open({ ...found, ...shared, log_completions: config.log_completions || found.log_completions })
    }
    return {
      get model() {
        return first.model
      },
      usageId: first.usageId,
      async complete(request, onDelta, signal) {
        // Once deltas were sent, a fallback sends none: clients would show the beginning of two answers.
        let hasStreamed = false
        const emit = (delta: LlmDelta) => {
          hasStreamed = true
          onDelta(delta)
        }
        try {
          return await first.complete(request, emit, signal)
        } catch (error) {
          if (signal.aborted || !isTemporary(error)) throw error
          for (const name of names) {
            try {
              const other = await opened(name)
              if (other === null) log.warn({ profile: name }, 'fallback profile not found')
              else return await other.complete(request, hasStreamed ? () => undefined : emit, signal)
            } catch (cause) {
              if (signal.aborted) throw cause
              log.warn({ profile: name, err: cause }, 'fallback model failed')
            }
          }
          throw error
        }
      },
    }
  }

const isTemporary = (error: unknown): boolean => error instanceof LlmError && TEMPORARY_FAILURES.has(error.code)
