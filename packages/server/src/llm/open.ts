/** Opens the model of a configuration. */
import { readFile } from 'node:fs/promises'
import type { LLM } from '@parley/protocol'
import { sleep } from '../lib/index.ts'
import { withCompletions, type OnCompletion } from './completion.ts'
import { remoteLlm } from './providers/remote-llm.ts'
import { featuresOf } from './models/features.ts'
import { LlmError, type Llm } from './llm.ts'
import { promptedLlm } from './prompted/prompted-llm.ts'
import type { Retry } from './retry.ts'
import { reported } from './reported.ts'
import { scriptedLlm } from './scripted.ts'
import type { Transport } from './providers/transport.ts'

export type LlmDeps = {
  /** Connections to the models' servers. */
  transport: Transport
  /** Folder of the scripts of `scripted/<name>`; default: the working directory. */
  scriptsDirectory?: string
  /** Reads a script. Absent: any file. @throws ParleyError for a path that requests may not reach. */
  readScript?: (path: string) => Promise<string>
  /** Called before each wait for another attempt. */
  onRetry?: (retry: Retry) => void
  /** Called once for a model whose server shortens requests silently to a small window; tokens. */
  onSmallWindow?: (window: number) => void
  /** Called with each request of a configuration with `log_completions`, and what came of it. */
  onCompletion?: OnCompletion
  /** In [0, 1). */
  random?: () => number
  /** Milliseconds since 1970. */
  now?: () => number
}

/**
 * Returns the model of a configuration. Cheap, and never fails: `complete` rejects when something is wrong or missing,
 * so that a
 * conversation can exist before its model is set up.
 */
export function openLlm(config: LLM, deps: LlmDeps): Llm {
  const llm = openNative(config, deps)
  if (config.native_tool_calling) return llm
  return promptedLlm(llm, config.disable_stop_word !== true && featuresOf(config).stopWords)
}

/** Returns true when a request can be sent: `complete` of every other configuration rejects with `LLMNotConfigured`. */
export const isConfigured = (config: LLM, { serverKey }: Pick<Transport, 'serverKey'>): boolean =>
  serverKey.routeOf(config).kind !== 'unconfigured'

function openNative(config: LLM, deps: LlmDeps): Llm {
  const { transport } = deps
  const onCompletion = config.log_completions ? deps.onCompletion : undefined
  const route = transport.serverKey.routeOf(config)
  switch (route.kind) {
    case 'scripted': {
      const scripted = scriptedLlm(config, route.script, {
        directory: deps.scriptsDirectory ?? '.',
        read: deps.readScript ?? ((path) => readFile(path, 'utf8')),
      })
      const llm = reported(scripted, 'scripted', transport.onRequest)
      return onCompletion === undefined ? llm : withCompletions(config, llm, onCompletion)
    }
    case 'demo': {
      const { model, usage_id } = config
      const demo: Llm = {
        model,
        usageId: usage_id,
        complete: async (...request) => (await import('./demo/demo-llm.ts')).demoLlm(config).complete(...request),
      }
      const llm = reported(demo, 'demo', transport.onRequest)
      return onCompletion === undefined ? llm : withCompletions(config, llm, onCompletion)
    }
    case 'unconfigured':
      return {
        model: config.model,
        usageId: config.usage_id,
        complete: () => Promise.reject(new LlmError('LLMNotConfigured', route.reason)),
      }
    case 'remote':
      return remoteLlm(config, route, {
        transport,
        random: deps.random ?? Math.random,
        now: deps.now ?? Date.now,
        sleep,
        ...(deps.onRetry ? { onRetry: deps.onRetry } : {}),
        ...(deps.onSmallWindow ? { onSmallWindow: deps.onSmallWindow } : {}),
        ...(onCompletion ? { onCompletion } : {}),
      })
  }
}
