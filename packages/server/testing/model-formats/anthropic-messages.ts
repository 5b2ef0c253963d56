/** Anthropic Messages: `POST …/messages`. */
import { pieces, type PlayedAnswer, type PlayedPart, type ScriptedFinish } from './answer.ts'
import { asList, asString, frame, textOf, type Json } from './format.ts'
import type { ModelFormat } from './model-format.ts'
import { ANTHROPIC_THINKING_RULES, anthropicPrefix } from './rules/anthropic-thinking.ts'
import { ANTHROPIC_RULES } from './rules/anthropic.ts'

const STOP: Readonly<Record<ScriptedFinish, string>> = {
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  stop: 'end_turn',
  length: 'max_tokens',
  'context-window': 'model_context_window_exceeded',
  'malformed-call': 'end_turn',
  failed: 'error',
  unknown: 'odd',
}

export const anthropicMessages: ModelFormat = {
  name: 'anthropic',
  matches: (path) => path.endsWith('/messages'),

  view: (_path, body) => {
    const messages = asList(body.messages)
    const results = messages
      .flatMap((message) => asList(message.content))
      .filter((block) => block.type === 'tool_result')
    return {
      model: asString(body.model),
      stream: body.stream === true,
      assistantTurns: messages.filter((message) => message.role === 'assistant').length,
      lastUserText: textOf(
        messages.findLast((message) => message.role === 'user' && textOf(message.content) !== '')?.content,
      ),
      toolResults: results.map((block) => ({ id: asString(block.tool_use_id), text: textOf(block.content) })),
      tools: asList(body.tools).map((tool) => asString(tool.name)),
    }
  },

  rules: [...ANTHROPIC_RULES, ...ANTHROPIC_THINKING_RULES],
  parts: (answer) => answer.parts ?? defaultParts(answer),
  prefixOf: (body) => anthropicPrefix(body, asList(body.messages).length),

  frames: (answer, view, body) => {
    const event = (data: Json & { type: string }) => frame(data, data.type)
    const message = {
      ...anthropicMessages.whole(answer, view, body),
      content: [],
      stop_reason: null,
      stop_sequence: null,
    }
    return [
      event({ type: 'message_start', message: { ...message, usage: { ...usageOf(answer), output_tokens: 1 } } }),
      event({ type: 'ping' }),
      ...contentOf(answer).flatMap((block, index) => [
        event({ type: 'content_block_start', index, content_block: emptied(block) }),
        ...deltasOf(block, answer).map((delta) => event({ type: 'content_block_delta', index, delta })),
        event({ type: 'content_block_stop', index }),
      ]),
      event({
        type: 'message_delta',
        delta: { stop_reason: STOP[answer.finishReason], stop_sequence: null },
        usage: { output_tokens: answer.usage.output },
      }),
      event({ type: 'message_stop' }),
    ]
  },

  whole: (answer, view) => ({
    id: `msg_${answer.id}`,
    type: 'message',
    role: 'assistant',
    model: view.model,
    content: contentOf(answer).map(({ raw: _raw, ...block }) => block),
    stop_reason: STOP[answer.finishReason],
    stop_sequence: null,
    usage: usageOf(answer),
  }),

  error: (status, message) => ({ type: 'error', error: { type: errorType(status), message } }),
}

/** `raw` keeps argument text that is not JSON; it is sent in deltas only, as the vendor would send it. */
const contentOf = (answer: PlayedAnswer): Json[] => anthropicMessages.parts(answer).map(blockOf)

function defaultParts({ thinking, text, toolCalls }: PlayedAnswer): PlayedPart[] {
  return [
    ...thinking.map((block): PlayedPart => {
      if ('redacted' in block) return { type: 'reasoning', text: '', redacted: block.redacted }
      return { type: 'reasoning', text: block.thinking, signature: block.signature }
    }),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...toolCalls.map((call): PlayedPart => ({ type: 'call', call })),
  ]
}

function blockOf(part: PlayedPart): Json {
  switch (part.type) {
    case 'reasoning':
      if (part.redacted !== undefined) return { type: 'redacted_thinking', data: part.redacted }
      return { type: 'thinking', thinking: part.text, signature: part.signature }
    case 'text':
      return { type: 'text', text: part.text }
    case 'call': {
      const { id, name, arguments: raw } = part.call
      return { type: 'tool_use', id, name, input: parsed(raw), raw }
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function emptied(block: Json): Json {
  switch (block.type) {
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'text':
      return { type: 'text', text: '' }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} }
    default:
      return block
  }
}

function deltasOf(block: Json, answer: PlayedAnswer): Json[] {
  switch (block.type) {
    case 'thinking':
      return [
        ...pieces(asString(block.thinking), answer.chunkSize).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block.signature },
      ]
    case 'text':
      return pieces(asString(block.text), answer.chunkSize).map((text) => ({ type: 'text_delta', text }))
    case 'tool_use':
      return pieces(asString(block.raw), answer.chunkSize).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      }))
    default:
      return []
  }
}

/** `input_tokens` excludes cached tokens. */
const usageOf = ({ usage }: PlayedAnswer) => ({
  input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
  cache_read_input_tokens: usage.cacheRead,
  cache_creation_input_tokens: usage.cacheWrite,
  output_tokens: usage.output,
})

function errorType(status: number): string {
  const types: Record<number, string> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  }
  return types[status] ?? 'api_error'
}
