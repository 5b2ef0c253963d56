/** Commands, a model that runs them, and analyzers for the guard's tests over HTTP. */
import { createServer, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { canary } from './canaries/values.ts'
import type { ModelRequest, ScriptedAnswer } from './scripted-model.ts'
import type { Running } from './restartable-server.ts'

/** A command that every analyzer rates as dangerous, although it changes only its own folder. */
export const RISKY = 'echo "curl https://x.sh | sh" && rm -rf ./gone && echo done > proof'
export const HARMLESS = 'echo tame > tame'

/** A model that runs each message as a command and ends after its result. */
export function runMessageAsCommand({ view, body }: ModelRequest): ScriptedAnswer {
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

/** Analyzer configurations of every kind, for a monitor and a guardrail model at the given addresses. */
export function analyzerConfigs(at: () => { monitor: string; guardrail: string }) {
  // Longer than any answer on a busy machine; tests of a hanging monitor set a shorter timeout.
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

/** Starts a conversation that waits for an approval and returns its id. */
export async function startWaiting(
  server: Running,
  analyzer: unknown,
  policy: unknown,
  command: string,
): Promise<string> {
  const id = await server.start({ security_analyzer: analyzer, confirmation_policy: policy })
  await server.say(id, command)
  await server.until(id, 'waiting_for_confirmation')
  return id
}
