/**
 * One attempt of a request to a model: sends it through the provider library, and collects the library's stream as deltas and one answer.
 */
import { randomUUID } from 'node:crypto'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { AnswerOrigin, AnswerPart, LLM } from '@parley/protocol'
import { fitImages } from '../images/fit-images.ts'
import { imageLimits } from '../images/limits.ts'
import type { FinishReason, LlmAnswer, LlmDelta, LlmRequest, LlmUsage } from '../llm.ts'
import type { ModelFeatures } from '../models/features.ts'
import { loadPriceBook, type PriceBook } from '../models/prices.ts'
import type { Remote } from '../models/route.ts'
import { freeformTools, withArguments } from '../prompt/freeform.ts'
import type { AttemptRecord } from './attempt-record.ts'
import { collect } from './collect.ts'
import { loadModel } from './library-model.ts'
import { outputLimit } from './output-limit.ts'
import { toCall } from './request.ts'
import type { Transport } from './transport.ts'
import { toUsage } from './usage.ts'

/** The model that is asked. */
export type Asked = { route: Remote; features: ModelFeatures; origin: AnswerOrigin }

export type AttemptDeps = {
  transport: Transport
  /** Called once when the server shortens requests silently to a window that is too small for an agent; tokens. */
  onSmallWindow?: (window: number) => void
}

export type Attempt = {
  request: LlmRequest
  temperature: number | null
  onDelta: (delta: LlmDelta) => void
  /** Receives the messages in the form in which they are sent. */
  sent: Pick<LlmRequest, 'messages'>
  record: AttemptRecord | null
}

/** Tokens that the prompt, the tools and a few steps of an agent need. */
const SMALL_WINDOW = 16_384

/** Loads and connects nothing before the first attempt. An attempt rejects with the error of the library, or the signal's reason. */
export function openAttempts(
  config: LLM,
  { route, features, origin }: Asked,
  { transport, onSmallWindow }: AttemptDeps,
): (attempt: Attempt, signal: AbortSignal) => Promise<LlmAnswer> {
  const { serverKey } = transport
  const fetch = transport.fetch(config.timeout === null ? null : config.timeout * 1000)
  const limits = imageLimits(route.api, features.limitsPixels)
  const inlines = features.inlineImages || route.api === 'google'
  let model: Promise<LanguageModelV4> | null = null
  let book: Promise<PriceBook> | null = null
  let isWarned = false

  const windowOf = (): number | null => {
    const asked = route.isOwnServer && config.max_input_tokens === null ? transport.windows.of(route) : null
    if (asked === null) return null
    if (asked.truncates && asked.window < SMALL_WINDOW && !isWarned) onSmallWindow?.(asked.window)
    isWarned = true
    return asked.window
  }

  const withImages = async (given: LlmRequest['messages'], signal: AbortSignal) => {
    if (!features.vision) return given
    const { images, shrinker } = transport
    const inline = inlines ? await images.inline(given, signal) : given
    return fitImages(inline, { limits, shrinker, given }, signal)
  }

  return async ({ request, temperature, onDelta, sent, record }, signal) => {
    // A model of its own for each recorded attempt, so that what is sent is known to belong to it.
    if (record === null) model ??= loadModel(config, route, fetch)
    const loaded = await (record === null ? model! : loadModel(config, route, record.capturing(fetch)))
    const messages = await withImages(request.messages, signal)
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
}

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
  const own = new Set(answer.toolCalls.map((call) => call.id))
  const used = usedBefore(own, request)
  const toolCalls = answer.toolCalls.map((call) => {
    const id = used.has(call.id) || call.id === '' ? `call_${randomUUID().replaceAll('-', '')}` : call.id
    used.add(id)
    return { ...call, id }
  })
  const left = [...toolCalls]
  const named = (part: AnswerPart) => (part.type === 'call' ? { ...part, id: left.shift()?.id ?? part.id } : part)
  return { ...answer, toolCalls, raw: answer.raw && { ...answer.raw, parts: answer.raw.parts.map(named) } }
}

/** Returns which of the ids name calls of the request. It collects these alone, because a history may have thousands of calls. */
function usedBefore(ids: ReadonlySet<string>, { messages }: LlmRequest): Set<string> {
  const used = new Set<string>()
  for (const message of messages)
    if (message.role === 'assistant') for (const { id } of message.toolCalls) if (ids.has(id)) used.add(id)
  return used
}
