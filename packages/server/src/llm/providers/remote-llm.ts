/**
 * A model behind a provider library: sends the request and collects the library's stream as deltas and one answer, with
 * retries.
 */
import { randomUUID } from 'node:crypto'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { AnswerPart, LLM } from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import type { OnCompletion } from '../completion.ts'
import { fitImages } from '../images/fit-images.ts'
import { imageLimits } from '../images/limits.ts'
import { originalMarks } from '../images/original-marks.ts'
import { AttemptRecord } from './attempt-record.ts'
import { collect } from './collect.ts'
import { toFailure } from './errors.ts'
import { featuresOf } from '../models/features.ts'
import type { FinishReason, Llm, LlmAnswer, LlmDelta, LlmRequest, LlmUsage } from '../llm.ts'
import { freeformTools, withArguments } from '../prompt/freeform.ts'
import { originOf } from '../prompt/origin.ts'
import { loadModel } from './library-model.ts'
import { milderRequest, withFunctions } from './milder-request.ts'
import { outputLimit } from './output-limit.ts'
import { toCall } from './request.ts'
import { withRetries, type RetryDeps } from '../retry.ts'
import { hideKey } from '../server-key.ts'
import type { Remote } from '../models/route.ts'
import type { Transport } from './transport.ts'
import { loadPriceBook, type PriceBook } from '../models/prices.ts'
import { toUsage } from './usage.ts'

/** Dependencies of a remote model. */
export type RemoteDeps = RetryDeps & {
  transport: Transport
  /** Milliseconds. */
  now: () => number
  /** Called once when the server shortens requests silently to a window that is too small for an agent; tokens. */
  onSmallWindow?: (window: number) => void
  /** Called with each attempt. Absent: none is recorded. */
  onCompletion?: OnCompletion
}

/** Tokens that the prompt, the tools and a few steps of an agent need. */
const SMALL_WINDOW = 16_384

/** Loads and connects nothing before the first `complete`. */
export function remoteLlm(config: LLM, route: Remote, deps: RemoteDeps): Llm {
  const features = featuresOf(config)
  const { serverKey } = deps.transport
  const hide = (text: string) => serverKey.hide(hideKey(text, route.apiKey))
  const context = { model: config.model, hide, hasKey: route.apiKey !== null, baseUrl: route.baseUrl }
  const fetch = deps.transport.fetch(config.timeout === null ? null : config.timeout * 1000)
  const origin = originOf(route, serverKey.isUsedBy(route.apiKey))
  const limits = imageLimits(route.api, features.limitsPixels)
  const inlines = features.vision && (features.inlineImages || route.api === 'google')
  let model: Promise<LanguageModelV4> | null = null
  let book: Promise<PriceBook> | null = null

  /** False once the server has refused custom tools. */
  let takesCustomTools = true
  let isWarned = false
  const windowOf = (): number | null => {
    const asked = route.isOwnServer && config.max_input_tokens === null ? deps.transport.windows.of(route) : null
    if (asked === null) return null
    if (asked.truncates && asked.window < SMALL_WINDOW && !isWarned) deps.onSmallWindow?.(asked.window)
    isWarned = true
    return asked.window
  }

  const imagesOf = async (given: LlmRequest['messages'], signal: AbortSignal) => {
    const { images, shrinker } = deps.transport
    const inline = inlines ? await images.inline(given, signal) : given
    return fitImages(inline, { limits, shrinker, given }, signal)
  }

  const attempt = async (
    request: LlmRequest,
    temperature: number | null,
    onDelta: (delta: LlmDelta) => void,
    signal: AbortSignal,
    sent: Pick<LlmRequest, 'messages'>,
    record: AttemptRecord | null,
  ): Promise<LlmAnswer> => {
    // A model of its own for each recorded attempt, so that what is sent is known to belong to it.
    if (record === null) model ??= loadModel(config, route, fetch)
    const loaded = await (record === null ? model! : loadModel(config, route, record.capturing(fetch)))
    const messages = features.vision ? await imagesOf(request.messages, signal) : request.messages
    sent.messages = messages
    const started = performance.now()
    const { stream, response } = await loaded.doStream({
      ...toCall(config, { route, origin, features }, { ...request, messages }, temperature),
      abortSignal: signal,
    })
    // After the request was sent, so that loading the table adds no delay.
    book ??= loadPriceBook()
    const { tokens, responseId, raw, ...collected } = await collect(stream, onDelta)
    const customs = freeformTools(request.tools, route, features)
    const answer = { ...collected, toolCalls: collected.toolCalls.map((call) => withArguments(call, customs)) }
    const latency = (performance.now() - started) / 1000
    const isPaidByServer = serverKey.pays(route.apiKey)
    const headers = response?.headers ?? {}
    const askedWindow = windowOf()
    const usage = toUsage({ config, route, tokens, headers, latency, book: await book, isPaidByServer, askedWindow })
    return {
      ...withNewIds({ ...answer, raw: raw === null ? null : { origin, ...raw } }, request),
      finishReason: limitedAt(outputLimit(config, route, request.afterCut), usage, answer.finishReason),
      responseId: responseId || randomUUID(),
      usage,
    }
  }

  const recordOf = (n: number): AttemptRecord | null =>
    deps.onCompletion === undefined ? null : new AttemptRecord(config, n + 1, deps.now(), deps.onCompletion)

  return {
    model: config.model,
    usageId: config.usage_id,
    complete(request, onDelta, signal) {
      // Deltas that one attempt sent are not sent again by the next: clients see one beginning, then the stored answer.
      let streamingAttempt: number | null = null
      const emitter = (n: number) => (delta: LlmDelta) => {
        streamingAttempt ??= n
        if (streamingAttempt === n) onDelta(delta)
      }
      const sent = { messages: request.messages }
      const failureOf = (thrown: unknown) =>
        toFailure(thrown, { ...context, originalMark: originalMarks(request, sent) }, deps.now())
      const recorded = async (wanted: LlmRequest, n: number, before: string | undefined): Promise<LlmAnswer> => {
        const record = recordOf(n)
        const emit = config.stream ? emitter(n) : () => {}
        try {
          const answer = await attempt(wanted, temperatureFor(config, before), emit, signal, sent, record)
          record?.answered(answer)
          return answer
        } catch (thrown) {
          if (signal.aborted) record?.interrupted()
          else record?.failed(failureOf(thrown).error, thrown)
          throw thrown
        }
      }
      const send = (wanted: LlmRequest): Promise<LlmAnswer> =>
        withRetries(config, (n, before) => recorded(wanted, n, before?.code), failureOf, deps, signal)
      const sendMilder = async (wanted: LlmRequest): Promise<LlmAnswer> => {
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
          return sendMilder(milder === 'usual' ? usual : wanted)
        }
      }
      return abortable(sendMilder(request), signal)
    },
  }
}

/** An empty answer at temperature 0 would be repeated by the same request (agent-core.md 10.5). */
const temperatureFor = (config: LLM, before: string | undefined): number | null =>
  before === 'LLMNoResponseError' && config.temperature === 0 ? 1 : config.temperature

/**
 * Some servers report a call that their output limit has cut off as a complete one; the number of tokens tells.
 * Source: https://github.com/vllm-project/vllm/issues/58228.
 */
const limitedAt = (limit: number | null, { tokens }: LlmUsage, reason: FinishReason): FinishReason =>
  limit !== null && tokens.completion_tokens >= limit && (reason === 'tool-calls' || reason === 'stop')
    ? 'length'
    : reason

/** Some servers number their calls from the start in every answer; within a conversation an id must name one call. */
function withNewIds<A extends Pick<LlmAnswer, 'toolCalls' | 'raw'>>(answer: A, request: LlmRequest): A {
  if (answer.toolCalls.length === 0) return answer
  const used = new Set<string>()
  for (const message of request.messages)
    if (message.role === 'assistant') for (const call of message.toolCalls) used.add(call.id)
  const toolCalls = answer.toolCalls.map((call) => {
    const id = used.has(call.id) || call.id === '' ? `call_${randomUUID().replaceAll('-', '')}` : call.id
    used.add(id)
    return { ...call, id }
  })
  const left = [...toolCalls]
  const named = (part: AnswerPart) => (part.type === 'call' ? { ...part, id: left.shift()?.id ?? part.id } : part)
  return { ...answer, toolCalls, raw: answer.raw && { ...answer.raw, parts: answer.raw.parts.map(named) } }
}
