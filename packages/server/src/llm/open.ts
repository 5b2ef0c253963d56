/** From a configuration to a model. */
import type { LLM } from '@parley/protocol'
import { sleep } from '../lib/index.ts'
import { remoteLlm } from './ai-sdk.ts'
import { featuresOf } from './features.ts'
import { LlmError, type Llm } from './llm.ts'
import { promptedLlm } from './prompted/prompted-llm.ts'
import type { Retry } from './retry.ts'
import { routeOf } from './route.ts'
import { scriptedLlm } from './scripted.ts'
import { openTransport, type Transport } from './transport.ts'

export type LlmDeps = {
  /** Connections to the models' servers; give all models of a process the same one, or each opens its own. */
  transport?: Transport
  /** Where `scripted/<name>` looks for scripts; default: the working directory. */
  scriptsDirectory?: string
  /** Told before each wait for another attempt. */
  onRetry?: (retry: Retry) => void
  /** In [0, 1). */
  random?: () => number
  /** Milliseconds since 1970. */
  now?: () => number
}

/**
 * The model of a configuration. Cheap, and never fails: what is wrong or missing is said by `complete`,
 * so that a conversation can exist before its model is set up.
 */
export function openLlm(config: LLM, deps: LlmDeps = {}): Llm {
  const llm = openNative(config, deps)
  if (config.native_tool_calling) return llm
  return promptedLlm(llm, config.disable_stop_word !== true && featuresOf(config).stopWords)
}

/** Whether a request could be sent: `complete` of every other one rejects with `LLMNotConfigured`. */
export const isConfigured = (config: LLM): boolean => routeOf(config).kind !== 'unconfigured'

function openNative(config: LLM, deps: LlmDeps): Llm {
  const route = routeOf(config)
  switch (route.kind) {
    case 'scripted':
      return scriptedLlm(config, route.script, deps.scriptsDirectory ?? '.')
    case 'unconfigured':
      return {
        model: config.model,
        usageId: config.usage_id,
        complete: () => Promise.reject(new LlmError('LLMNotConfigured', route.reason)),
      }
    case 'remote':
      return remoteLlm(config, route, {
        transport: deps.transport ?? openTransport(),
        random: deps.random ?? Math.random,
        now: deps.now ?? Date.now,
        sleep,
        ...(deps.onRetry ? { onRetry: deps.onRetry } : {}),
      })
  }
}
