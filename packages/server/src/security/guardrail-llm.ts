/** Analyzer that asks a second model about each call. Source: agent-core.md 4.11; interface.md, Security analyzers. */
import type { GuardrailLLMSecurityAnalyzer } from '@parley/protocol'
import { timeoutSignal } from '../lib/index.ts'
import type { Llm, LlmAnswer, OpenLlm } from '../llm/index.ts'
import { assessmentOf, type Analyzer, type Assessment, reasonOf } from './analyzer.ts'
import { guardrailPrompt, readGuardrailAnswer } from './guardrail-prompt.ts'

/** Milliseconds for one assessment, including all attempts. */
const LIMIT_MS = 60_000
/** Usage id of its costs when the configuration has the agent's default one. */
const USAGE_ID = 'guardrail'

/**
 * Asks the model about each call. The history comes from the branch, so no state is kept between calls and nothing is lost at
 * a restart. If the model fails or its answer cannot be read, the risk is UNKNOWN.
 */
export function openGuardrail(
  config: GuardrailLLMSecurityAnalyzer,
  openLlm: OpenLlm,
  limitMs: number = LIMIT_MS,
): Analyzer {
  const usage_id = config.llm.usage_id === 'default' ? USAGE_ID : config.llm.usage_id
  let llm: Llm | null = null
  return {
    async assess(call, context, signal) {
      const { system, user, isCut } = guardrailPrompt(call, context, config)
      signal.throwIfAborted()
      let answer: LlmAnswer
      try {
        llm ??= openLlm({ ...config.llm, usage_id })
        const request = {
          messages: [
            { role: 'system' as const, content: [{ type: 'text' as const, text: system }] },
            { role: 'user' as const, content: [{ type: 'text' as const, text: user }] },
          ],
          tools: [],
        }
        answer = await llm.complete(request, ignore, AbortSignal.any([signal, timeoutSignal(limitMs)]))
      } catch {
        signal.throwIfAborted()
        // An outage does not indicate danger; HIGH would make every ensemble HIGH.
        return assessmentOf('UNKNOWN', config.kind, { rule: null, text: 'the second model gave no answer' })
      }
      const answered = readGuardrailAnswer(answer.text)
      const isUnread = isCut && answered !== 'HIGH'
      const risk = isUnread ? 'UNKNOWN' : answered
      const text = isUnread
        ? 'the call is too long for the second model'
        : `a second model rates the call as ${risk.toLowerCase()} risk`
      const reasons = risk === 'LOW' ? [] : [reasonOf(config.kind, risk, { rule: null, text })]
      return { risk, costs: [costOf(answer, llm)], reasons }
    },
  }
}

const ignore = (): void => {}

function costOf({ responseId, usage }: LlmAnswer, { usageId, model }: Llm): Assessment['costs'][number] {
  return {
    usage_id: usageId,
    model,
    response_id: responseId,
    tokens: usage.tokens,
    cost: usage.costUsd,
    latency: usage.latency,
  }
}
