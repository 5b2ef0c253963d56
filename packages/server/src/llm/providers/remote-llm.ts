/** A model behind a provider library, with retries and with milder requests after a refusal. */
import type { LLM } from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import type { OnCompletion } from '../completion.ts'
import { originalMarks } from '../images/original-marks.ts'
import type { Llm, LlmAnswer, LlmDelta, LlmRequest } from '../llm.ts'
import { featuresOf } from '../models/features.ts'
import type { Remote } from '../models/route.ts'
import { freeformTools } from '../prompt/freeform.ts'
import { originOf } from '../prompt/origin.ts'
import { withRetries, type RetryDeps } from '../retry.ts'
import { hideKey } from '../server-key.ts'
import { openAttempts, type AttemptDeps } from './attempt.ts'
import { AttemptRecord } from './attempt-record.ts'
import { toFailure } from './errors.ts'
import { milderRequest, withFunctions } from './milder-request.ts'
import { outputLimit } from './output-limit.ts'

/** Dependencies of a remote model. */
export type RemoteDeps = RetryDeps &
  AttemptDeps & {
    /** Milliseconds. */
    now: () => number
    /** Called with each attempt. Absent: none is recorded. */
    onCompletion?: OnCompletion
  }

/** Loads and connects nothing before the first `complete`. */
export function remoteLlm(config: LLM, route: Remote, deps: RemoteDeps): Llm {
  const features = featuresOf(config)
  const { serverKey } = deps.transport
  const hide = (text: string) => serverKey.hide(hideKey(text, route.apiKey))
  const context = { model: config.model, hide, hasKey: route.apiKey !== null, baseUrl: route.baseUrl }
  const attempt = openAttempts(
    config,
    { route, features, origin: originOf(route, serverKey.isUsedBy(route.apiKey)) },
    deps,
  )
  /** False once the server has refused custom tools. */
  let takesCustomTools = true

  /** Sends a request, and after a refusal of an optional part the same request without it. */
  const sendMilder = async (request: LlmRequest, send: (wanted: LlmRequest) => Promise<LlmAnswer>) => {
    for (let wanted = request; ;) {
      const asked = takesCustomTools ? wanted : withFunctions(wanted)
      try {
        return await send(asked)
      } catch (error) {
        const { afterCut, ...usual } = wanted
        const milder = milderRequest(error, {
          isRaised: outputLimit(config, route, afterCut) !== outputLimit(config, route),
          hasCustomTools: freeformTools(asked.tools, route, features).size > 0,
        })
        if (milder === null) throw error
        if (milder === 'functions') takesCustomTools = false
        else wanted = usual
      }
    }
  }

  return {
    model: config.model,
    usageId: config.usage_id,
    complete(request, onDelta, signal) {
      const emitter = firstStream(config.stream ? onDelta : () => {})
      const sent = { messages: request.messages }
      const failureOf = (thrown: unknown) =>
        toFailure(thrown, { ...context, originalMark: originalMarks(request, sent) }, deps.now())
      let attempts = 0
      const recorded = async (wanted: LlmRequest, before: string | undefined): Promise<LlmAnswer> => {
        attempts += 1
        const { onCompletion } = deps
        const record = onCompletion ? new AttemptRecord(config, attempts, deps.now(), onCompletion) : null
        const temperature = temperatureFor(config, before)
        const from = performance.now()
        const ended = (error: string | null) =>
          deps.transport.onRequest({
            provider: route.provider ?? 'other',
            seconds: (performance.now() - from) / 1000,
            error,
          })
        try {
          const answer = await attempt(
            { request: wanted, temperature, onDelta: emitter(attempts), sent, record },
            signal,
          )
          record?.answered(answer)
          ended(null)
          return answer
        } catch (thrown) {
          if (signal.aborted) {
            record?.interrupted()
            ended('cancelled')
          } else {
            const { error } = failureOf(thrown)
            record?.failed(error, thrown)
            ended(error.code)
          }
          throw thrown
        }
      }
      const send = (wanted: LlmRequest): Promise<LlmAnswer> =>
        withRetries(config, (_n, before) => recorded(wanted, before?.code), failureOf, deps, signal)
      return abortable(sendMilder(request, send), signal)
    },
  }
}

/** Deltas that one attempt sent are not sent again by the next: clients see one beginning, then the stored answer. */
function firstStream(onDelta: (delta: LlmDelta) => void): (attempt: number) => (delta: LlmDelta) => void {
  let streaming: number | null = null
  return (attempt) => (delta) => {
    streaming ??= attempt
    if (streaming === attempt) onDelta(delta)
  }
}

/** An empty answer at temperature 0 would be repeated by the same request (agent-core.md 10.5). */
const temperatureFor = (config: LLM, before: string | undefined): number | null =>
  before === 'LLMNoResponseError' && config.temperature === 0 ? 1 : config.temperature
