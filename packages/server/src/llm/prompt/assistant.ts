/**
 * Converts an answer of a model to a message of a provider library's prompt. Pure.
 *
 * Rules
 *   A1. An answer goes back to its origin as it came: parts in their order, reasoning byte for byte, signatures on their own parts.
 *   A2. Other servers get its text and calls: they refuse the signatures, and one vendor's reasoning is none of another's business.
 *   A3. Arguments are sent back as the model wrote them where the API takes text, else as the parsed value. Arguments that are no
 *       JSON object are sent back as `{}`, because the library would quote a malformed string a second time.
 *   A4. A call of a tool that the request offers as a freeform one is sent back as its text, whichever model made it.
 */
import type { LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { AnswerOrigin, RawAnswer } from '@parley/protocol'
import { parseRecord } from '../../lib/index.ts'
import type { LlmMessage } from '../llm.ts'
import type { ModelApi } from '../models/route.ts'
import { callIdFor } from './call-ids.ts'
import { textOfCall, type FreeformTools } from './freeform.ts'
import { partsOf, reasoningDigest, type FullPart } from './answer-parts.ts'
import { isSameOrigin } from './origin.ts'

export type AssistantOptions = {
  api: ModelApi
  /** Of the server that gets the request. */
  origin: AnswerOrigin
  /** Reasoning is sent back to its origin. */
  echoReasoning: boolean
  /** The server requires reasoning in each answer of a history; answers from elsewhere get an empty one. */
  needsReasoning: boolean
  /** The server requires a signature on the first call of each answer; calls from elsewhere get the one that skips the check. */
  needsSignature: boolean
  /** Tools that the model of the request calls with a text. */
  freeform: FreeformTools
}

type Assistant = Extract<LlmMessage, { role: 'assistant' }>
type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>
type Content = AssistantMessage['content'][number]
type Reasoning = Extract<FullPart, { type: 'reasoning' }>

/** Gemini's own word for a call that it did not sign: https://ai.google.dev/gemini-api/docs/thought-signatures */
const UNSIGNED = 'skip_thought_signature_validator'

/** Returns the message; null when nothing of the answer can be sent. */
export function assistantMessage(message: Assistant, options: AssistantOptions): AssistantMessage | null {
  const raw = rawFor(message, options)
  const parts = partsOf(message, raw)
  const items = new Set(parts.flatMap((part) => (part.type === 'reasoning' && part.encrypted ? [part.item] : [])))
  const content = parts.flatMap((part) => contentOf(part, options, items))
  if (!content.some(({ type }) => type !== 'reasoning')) return null
  const firstCall = content.find(({ type }) => type === 'tool-call')
  if (options.needsSignature && firstCall !== undefined && firstCall.providerOptions === undefined)
    firstCall.providerOptions = { google: { thoughtSignature: UNSIGNED } }
  const members = options.api === 'compatible' ? chatMembers(parts, message, options) : {}
  const isPlain = Object.keys(members).length === 0
  return { role: 'assistant', content, ...(isPlain ? {} : { providerOptions: { openaiCompatible: members as never } }) }
}

/** Returns true when an answer begins with reasoning that its own server accepts back. */
export function beginsWithReasoning(message: Assistant, options: AssistantOptions): boolean {
  const [first] = partsOf(message, rawFor(message, options))
  return first?.type === 'reasoning' && (first.signature !== undefined || first.redacted !== undefined)
}

/** Returns the answer as it came, if it goes back to its origin; its reasoning only if that is wanted and unchanged. */
function rawFor(message: Assistant, { origin, echoReasoning }: AssistantOptions): RawAnswer | null {
  const { raw } = message
  if (raw === undefined || !isSameOrigin(raw.origin, origin)) return null
  if (echoReasoning && isUnchanged(raw, message.reasoning)) return raw
  return { ...raw, parts: raw.parts.filter(({ type }) => type !== 'reasoning') }
}

const unchanged = new WeakMap<RawAnswer, boolean>()

/** False when a secret in the reasoning was masked. Computed once for each answer. */
function isUnchanged(raw: RawAnswer, reasoning: string | undefined): boolean {
  const known = unchanged.get(raw) ?? (raw.digest === undefined || raw.digest === reasoningDigest(raw.parts, reasoning))
  unchanged.set(raw, known)
  return known
}

/** @param items ids of the reasoning items whose encrypted content is there */
function contentOf(part: FullPart, options: AssistantOptions, items: ReadonlySet<string | undefined>): Content[] {
  const { api } = options
  switch (part.type) {
    case 'reasoning': {
      const own = reasoningOptions(part, api, items)
      return own === null
        ? []
        : [{ type: 'reasoning', text: part.redacted === undefined ? part.text : '', providerOptions: own }]
    }
    case 'text': {
      // Gemini signs an empty text; any other one is refused.
      if (part.text.trim() === '' && (part.signature === undefined || api !== 'google')) return []
      const phase = api === 'responses' && part.phase !== undefined ? { openai: { phase: part.phase } } : {}
      return [{ type: 'text', text: part.text, ...withOptions({ ...signed(part.signature, api), ...phase }) }]
    }
    case 'call': {
      const { id, name } = part.call
      const parameter = options.freeform.get(name)
      const call = {
        type: 'tool-call' as const,
        toolCallId: callIdFor(id, options.origin),
        toolName: name,
        input: parameter === undefined ? inputOf(part.call, api) : textOfCall(part.call, parameter),
      }
      return [{ ...call, ...withOptions(signed(part.signature, api)) }]
    }
  }
}

/** Returns the library's options for reasoning; null for reasoning that this API does not take as a part. */
function reasoningOptions(
  { signature, redacted, item, encrypted }: Reasoning,
  api: ModelApi,
  items: ReadonlySet<string | undefined>,
): SharedV4ProviderOptions | null {
  switch (api) {
    case 'anthropic':
      if (redacted !== undefined) return { anthropic: { redactedData: redacted } }
      return signature === undefined ? null : { anthropic: { signature } }
    case 'responses':
      if (!items.has(item)) return null
      return {
        openai: { ...(item === undefined ? {} : { itemId: item }), reasoningEncryptedContent: encrypted ?? null },
      }
    case 'google':
      return signature === undefined ? null : { google: { thoughtSignature: signature } }
    default:
      return null
  }
}

/** Returns the members of a chat message that carry its reasoning. */
function chatMembers(
  parts: readonly FullPart[],
  { reasoning, raw }: Assistant,
  { needsReasoning }: AssistantOptions,
): Record<string, unknown> {
  const own = parts.find((part) => part.type === 'reasoning')
  if (own?.details !== undefined) return { reasoning_details: own.details }
  if (own?.member !== undefined) return { [own.member]: own.text }
  if (!needsReasoning) return {}
  // An answer of an older log does not say where it came from.
  return { reasoning_content: raw === undefined ? (reasoning ?? '') : '' }
}

const signed = (signature: string | undefined, api: ModelApi): SharedV4ProviderOptions =>
  signature !== undefined && (api === 'google' || api === 'compatible')
    ? { google: { thoughtSignature: signature } }
    : {}

const withOptions = (options: SharedV4ProviderOptions): { providerOptions?: SharedV4ProviderOptions } =>
  Object.keys(options).length === 0 ? {} : { providerOptions: options }

/** Calls whose arguments are sent back as text: each is parsed once, not again with every later request. */
const asWritten = new WeakSet<object>()

function inputOf(call: Assistant['toolCalls'][number], api: ModelApi): unknown {
  if (takesText(api) && asWritten.has(call)) return call.arguments
  const input = argumentsFor(call.arguments, api)
  if (typeof input === 'string') asWritten.add(call)
  return input
}

/** Returns true when the API carries arguments as text. */
const takesText = (api: ModelApi) => api === 'compatible' || api === 'chat' || api === 'responses'

/** See A3. The library parses the text again and fails on `__proto__` in it, so such arguments are sent parsed. */
export function argumentsFor(text: string, api: ModelApi): unknown {
  const value = parseRecord(text)
  if (value === null) return {}
  return takesText(api) && !/__proto__|constructor/.test(text) ? text : value
}
