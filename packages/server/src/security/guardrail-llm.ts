/** A second model that judges what the first one wants to do. Source: agent-core.md 4.11; seed: Security analyzers. */
import type { GuardrailLLMSecurityAnalyzer } from '@parley/protocol'
import type { Llm, LlmAnswer, OpenLlm } from '../llm/index.ts'
import { assessed, type Analyzer, type Assessment } from './analyzer.ts'
import { guardrailQuestion, readGuardrailAnswer } from './guardrail-prompt.ts'

/** Milliseconds for one judgement, all attempts included. */
const LIMIT_MS = 60_000
/** The bucket of its costs where the configuration gives it the agent's. */
const USAGE_ID = 'guardrail'

/**
 * Asks the model about each call. Its history is the branch itself, so nothing is kept between two questions and a
 * restart forgets nothing. A model that can't be asked, or can't be understood, makes the risk UNKNOWN.
 */
export function openGuardrail(
  config: GuardrailLLMSecurityAnalyzer,
  openLlm: OpenLlm,
  limitMs: number = LIMIT_MS,
): Analyzer {
  const usage_id = config.llm.usage_id === 'default' ? USAGE_ID : config.llm.usage_id
  let opened: Llm | null = null
  return {
    async assess(call, context, signal) {
      const { system, user, isCut } = guardrailQuestion(call, context, config)
      signal.throwIfAborted()
      let answer: LlmAnswer
      try {
        opened ??= openLlm({ ...config.llm, usage_id })
        const request = {
          messages: [
            { role: 'system' as const, content: [{ type: 'text' as const, text: system }] },
            { role: 'user' as const, content: [{ type: 'text' as const, text: user }] },
          ],
          tools: [],
        }
        answer = await opened.complete(request, ignore, AbortSignal.any([signal, AbortSignal.timeout(limitMs)]))
      } catch {
        signal.throwIfAborted()
        // An outage is no sign of danger: HIGH would make every ensemble HIGH.
        return assessed('UNKNOWN')
      }
      const risk = readGuardrailAnswer(answer.text)
      return { risk: isCut && risk !== 'HIGH' ? 'UNKNOWN' : risk, spent: [spending(answer, opened)] }
    },
  }
}

const ignore = (): void => {}

function spending({ responseId, usage }: LlmAnswer, { usageId, model }: Llm): Assessment['spent'][number] {
  return {
    usage_id: usageId,
    model,
    response_id: responseId,
    tokens: usage.tokens,
    cost: usage.costUsd,
    latency: usage.latency,
  }
}
