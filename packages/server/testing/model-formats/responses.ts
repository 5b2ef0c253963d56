/** OpenAI Responses: `POST …/responses`. */
import { interleave, pieces, type PlayedAnswer, type PlayedPart, type ScriptedFinish } from './answer.ts'
import { openAiErrorType } from './chat-completions.ts'
import { asList, asObject, asString, frame, isJsonObject, textOf, type Json } from './format.ts'
import type { ModelFormat } from './model-format.ts'
import { RESPONSES_RULES } from './rules/responses.ts'

const CREATED = 1_790_000_000

export const responses: ModelFormat = {
  name: 'responses',
  matches: (path) => path.endsWith('/responses'),

  view: (_path, body) => {
    const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : asList(body.input)
    const ofAssistant = items.map((item) => item.role === 'assistant' || isCall(item) || item.type === 'reasoning')
    return {
      model: asString(body.model),
      stream: body.stream === true,
      assistantTurns: ofAssistant.filter((own, at) => own && !ofAssistant[at - 1]).length,
      lastUserText: textOf(items.findLast((item) => item.role === 'user')?.content),
      toolResults: items
        .filter((item) => item.type === 'function_call_output' || item.type === 'custom_tool_call_output')
        .map((item) => ({ id: asString(item.call_id), text: textOf(item.output) })),
      tools: asList(body.tools).map((tool) => asString(tool.name)),
    }
  },

  rules: RESPONSES_RULES,
  parts: (answer) => answer.parts ?? defaultParts(answer),
  prefixOf: () => '',

  frames: (answer, view, body) => {
    let sequence = 0
    const event = (type: string, data: Json) => frame({ type, sequence_number: sequence++, ...data }, type)
    const items = itemsOf(answer, body)
    const shown = items.map((item, index) => framesOfItem(event, answer, item, index))
    // The frames of calls that follow each other are mixed, as a server that writes them at once sends them.
    const from = items.findIndex(isCall)
    const areLast = from >= 0 && items.slice(from).every(isCall)
    const ordered = areLast ? [...shown.slice(0, from), interleave(shown.slice(from))] : shown
    return [
      event('response.created', { response: shell(answer, view.model, 'in_progress') }),
      ...ordered.flat().map((make) => make()),
      event(`response.${statusOf(answer)}`, {
        response: responses.whole(answer, view, body),
      }),
    ]
  },

  whole: (answer, view, body) => ({
    ...shell(answer, view.model, statusOf(answer)),
    incomplete_details: statusOf(answer) === 'incomplete' ? { reason: INCOMPLETE[answer.finishReason] } : null,
    output: itemsOf(answer, body),
    usage: {
      input_tokens: answer.usage.input,
      input_tokens_details: { cached_tokens: answer.usage.cacheRead },
      output_tokens: answer.usage.output,
      output_tokens_details: { reasoning_tokens: answer.usage.reasoning },
      total_tokens: answer.usage.input + answer.usage.output,
    },
  }),

  error: (status, message, code = null) => ({ error: { message, type: openAiErrorType(status), param: null, code } }),
}

/** Reasons of answers that are not complete. */
const INCOMPLETE: Partial<Record<ScriptedFinish, string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
  unknown: 'odd',
}

const statusOf = ({ finishReason }: PlayedAnswer) => (finishReason in INCOMPLETE ? 'incomplete' : 'completed')

const shell = (answer: PlayedAnswer, model: string, status: string) => ({
  id: `resp_${answer.id}`,
  object: 'response',
  created_at: CREATED,
  model,
  status,
})

const isCall = ({ type }: Json) => type === 'function_call' || type === 'custom_tool_call'

const itemsOf = (answer: PlayedAnswer, body: Json): Json[] => {
  const customs = new Set(asList(body.tools).flatMap(({ type, name }) => (type === 'custom' ? [name] : [])))
  const idOf = (n: number) => (answer.parts === null ? answer.id : `${answer.id}_${n}`)
  const items = responses.parts(answer).map((part, n) => itemOf(part, idOf(n), customs))
  const last = items.at(-1)
  // The vendor closes what its limit has cut off as incomplete: https://github.com/vercel/ai/pull/20405
  if (last !== undefined && 'status' in last && statusOf(answer) === 'incomplete') last.status = 'incomplete'
  return items
}

function defaultParts({ reasoning, signature, text, toolCalls }: PlayedAnswer): PlayedPart[] {
  const thinks = reasoning !== '' || signature !== undefined
  return [
    ...(thinks ? [{ type: 'reasoning' as const, text: reasoning, signature }] : []),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...toolCalls.map((call): PlayedPart => ({ type: 'call', call })),
  ]
}

/** @param customs names of the tools that the request offers as custom ones: a model can call them in no other form */
function itemOf(part: PlayedPart, id: string, customs: ReadonlySet<unknown>): Json {
  switch (part.type) {
    case 'reasoning': {
      const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }]
      return { type: 'reasoning', id: `rs_${id}`, summary, encrypted_content: part.signature ?? null }
    }
    case 'text':
      return {
        type: 'message',
        id: `msg_${id}`,
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: part.text, annotations: [] }],
        ...(part.phase === undefined ? {} : { phase: part.phase }),
      }
    case 'call': {
      const { id: callId, name, arguments: args } = part.call
      if (customs.has(name))
        return {
          type: 'custom_tool_call',
          id: `ctc_${callId}`,
          call_id: callId,
          name,
          input: freeText(args),
          status: 'completed',
        }
      return { type: 'function_call', id: `fc_${callId}`, call_id: callId, name, arguments: args, status: 'completed' }
    }
  }
}

/** The only text among scripted arguments; a script that is no such object is the text itself. */
function freeText(args: string): string {
  const values = isJsonObject(args) ? Object.values(asObject(JSON.parse(args))) : []
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : args
}

type MakeFrame = () => string

/** The frames of one item; they are numbered when they are made. */
function framesOfItem(
  event: (type: string, data: Json) => string,
  answer: PlayedAnswer,
  item: Json,
  index: number,
): MakeFrame[] {
  const place = { output_index: index, item_id: item.id }
  const added = (opening: Json) => () =>
    event('response.output_item.added', { output_index: index, item: { ...item, ...opening } })
  const done = () => event('response.output_item.done', { output_index: index, item })
  const deltas = (type: string, text: string, part: Json) =>
    pieces(text, answer.chunkSize).map((delta) => () => event(type, { ...place, ...part, delta }))
  switch (item.type) {
    case 'function_call': {
      const text = asString(item.arguments)
      return [
        added({ arguments: '', status: 'in_progress' }),
        ...deltas('response.function_call_arguments.delta', text, {}),
        () => event('response.function_call_arguments.done', { ...place, arguments: text }),
        done,
      ]
    }
    case 'custom_tool_call': {
      const input = asString(item.input)
      return [
        added({ input: '', status: 'in_progress' }),
        ...deltas('response.custom_tool_call_input.delta', input, {}),
        () => event('response.custom_tool_call_input.done', { ...place, input }),
        done,
      ]
    }
    case 'reasoning': {
      const text = textOf(item.summary)
      const part = (suffix: string, shown: string) => () =>
        event(`response.reasoning_summary_part.${suffix}`, {
          ...place,
          summary_index: 0,
          part: { type: 'summary_text', text: shown },
        })
      const summary =
        text === ''
          ? []
          : [
              part('added', ''),
              ...deltas('response.reasoning_summary_text.delta', text, { summary_index: 0 }),
              part('done', text),
            ]
      return [added({ summary: [], encrypted_content: null }), ...summary, done]
    }
    default:
      return [
        added({ content: [], status: 'in_progress' }),
        ...deltas('response.output_text.delta', textOf(item.content), { content_index: 0 }),
        done,
      ]
  }
}
