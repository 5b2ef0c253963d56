/**
 * Converts messages to the prompt of a provider library; `assistant.ts` has the rules for answers. Pure.
 *
 * Rules
 *   P1. No empty text is sent: vendors refuse empty text blocks and empty messages.
 *   P2. Cache breakpoints, four at most: the shared system part, the end of the system prompt, the end of this request, and that of
 *       the request before the newest answer. A vendor looks back 20 blocks from a breakpoint, and ten parallel calls with their
 *       results are more (agent-core.md 10.4).
 *   P3. A message without a breakpoint is converted once for a model: its conversion is shared by all later requests, and never changed.
 */
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { LlmImage, LlmMessage, LlmText } from '../llm.ts'
import { filePart } from '../images/prompt-images.ts'
import { assistantMessage } from './assistant.ts'
import { callIdFor } from './call-ids.ts'
import { convertedOnce, type ConversionOptions } from './converted-once.ts'

export type PromptOptions = ConversionOptions & {
  /** How long the provider keeps what breakpoints mark; null: none are sent. */
  cacheTtl: CacheTtl | null
}

type ToolMessage = Extract<LlmMessage, { role: 'tool' }>

export type CacheTtl = '5m' | '1h'

type Mark = { providerOptions?: SharedV4ProviderOptions }

const NO_MARK: Mark = {}

/** Five minutes are the default of the provider. */
function markOf(ttl: CacheTtl | null): Mark {
  if (ttl === null) return NO_MARK
  const mark = { type: 'ephemeral', ...(ttl === '5m' ? {} : { ttl }) }
  return { providerOptions: { anthropic: { cacheControl: mark }, openaiCompatible: { cache_control: mark } } }
}

/** The messages whose end is marked. */
function markedMessages(messages: readonly LlmMessage[]): ReadonlySet<LlmMessage | undefined> {
  const isInput = ({ role }: LlmMessage) => role === 'user' || role === 'tool'
  const newest = messages.findLast(isInput)
  const answer = messages.findLastIndex(({ role }) => role === 'assistant')
  return new Set([newest, messages.slice(0, Math.max(0, answer)).findLast(isInput)])
}

/** Returns the prompt of one request. */
export function toPrompt(messages: readonly LlmMessage[], options: PromptOptions): LanguageModelV4Prompt {
  const leading = messages.findIndex((message) => message.role !== 'system')
  const start = leading < 0 ? messages.length : leading
  const system = messages.slice(0, start).flatMap((message) => (message.role === 'system' ? message.content : []))
  const marked = markedMessages(messages)
  const prompt = systemMessages(system, options)
  let pictures: LanguageModelV4FilePart[] = []
  for (const [at, message] of messages.entries()) {
    if (at < start) continue
    if (message.role !== 'tool') pictures = flush(pictures, prompt)
    const mark = marked.has(message) ? markOf(options.cacheTtl) : NO_MARK
    if (message.role === 'tool') pictures.push(...pushResult(message, mark, options, prompt))
    else if (message.role === 'assistant') pushAnswer(message, options, prompt)
    // All vendors but one take a system message in the middle as the user's turn.
    else pushUser(message, mark, options, prompt)
  }
  flush(pictures, prompt)
  return prompt
}

function systemMessages(parts: readonly LlmText[], { api, cacheTtl }: PromptOptions): LanguageModelV4Prompt {
  const filled = parts.filter((part) => part.text.trim() !== '')
  if (filled.length === 0) return []
  // Many chat templates accept only one system message.
  if (api !== 'anthropic') {
    const content = filled.map((part) => part.text).join('\n\n')
    return [{ role: 'system', content, ...markOf(cacheTtl) }]
  }
  return filled.map((part, at) => {
    const isMarked = part.cache === true || at === filled.length - 1
    return { role: 'system', content: part.text, ...(isMarked ? markOf(cacheTtl) : {}) }
  })
}

type InputMessage = Exclude<LlmMessage, { role: 'assistant' | 'tool' }>

function pushUser(message: InputMessage, mark: Mark, options: PromptOptions, prompt: LanguageModelV4Prompt): void {
  const parts = convertedOnce(message, options, userParts)
  const last = parts.at(-1)
  if (last === undefined) return
  prompt.push({ role: 'user', content: mark === NO_MARK ? parts : [...parts.slice(0, -1), { ...last, ...mark }] })
}

function userParts(
  { content: given }: InputMessage,
  options: ConversionOptions,
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  const { api, vision, stringContent = false } = options
  const content: readonly (LlmText | LlmImage)[] = given
  const texts = content.filter((part) => part.type === 'text').filter((part) => part.text.trim() !== '')
  const images = vision && !stringContent ? content.filter((part) => part.type === 'image') : []
  // Every server accepts plain strings, not every server lists of parts.
  if (api === 'compatible' && images.length === 0 && texts.length > 1)
    return [{ type: 'text', text: texts.map((part) => part.text).join('\n') }]
  return content.flatMap((part): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] => {
    if (part.type === 'image') {
      const image = vision && !stringContent ? filePart(part) : null
      return image === null ? [] : [image]
    }
    return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }]
  })
}

function pushAnswer(
  message: Extract<LlmMessage, { role: 'assistant' }>,
  options: PromptOptions,
  prompt: LanguageModelV4Prompt,
): void {
  const converted = convertedOnce(message, options, assistantMessage)
  if (converted !== null) prompt.push(converted)
}

/** Returns the images that must follow in a user message, where a tool result can only be text. */
function pushResult(
  message: ToolMessage,
  mark: Mark,
  options: PromptOptions,
  prompt: LanguageModelV4Prompt,
): readonly LanguageModelV4FilePart[] {
  const { result, pictures } = convertedOnce(message, options, resultOf)
  const part = mark === NO_MARK ? result : { ...result, ...mark }
  const last = prompt.at(-1)
  // The results of one batch of calls form one message.
  if (last?.role === 'tool') last.content.push(part)
  else prompt.push({ role: 'tool', content: [part] })
  return pictures
}

type ToolResult = { result: LanguageModelV4ToolResultPart; pictures: readonly LanguageModelV4FilePart[] }

function resultOf(message: ToolMessage, options: ConversionOptions): ToolResult {
  const shown = options.vision && options.stringContent !== true
  const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const images = shown ? message.content.flatMap((part) => (part.type === 'image' ? (filePart(part) ?? []) : [])) : []
  const textOnly = options.api === 'compatible' || options.api === 'chat'
  // Where the API has no flag for errors, the library would wrap the text of a failure in JSON.
  const isError = message.isError && options.api !== 'responses'
  const result: LanguageModelV4ToolResultPart = {
    type: 'tool-result',
    toolCallId: callIdFor(message.toolCallId, options.origin),
    toolName: message.toolName,
    output: images.length === 0 || textOnly ? textOutput(text, isError) : mixedOutput(text, images),
  }
  return { result, pictures: textOnly ? images : [] }
}

const textOutput = (value: string, isError: boolean): LanguageModelV4ToolResultOutput => ({
  type: isError ? 'error-text' : 'text',
  value,
})

const mixedOutput = (text: string, images: LanguageModelV4FilePart[]): LanguageModelV4ToolResultOutput => ({
  type: 'content',
  value: [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...images.map(({ data, mediaType }) => ({ type: 'file' as const, data, mediaType })),
  ],
})

function flush(pictures: LanguageModelV4FilePart[], prompt: LanguageModelV4Prompt): LanguageModelV4FilePart[] {
  if (pictures.length > 0)
    prompt.push({ role: 'user', content: [{ type: 'text', text: 'Images returned by the tools above:' }, ...pictures] })
  return []
}
