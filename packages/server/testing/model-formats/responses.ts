/** OpenAI Responses: `POST …/responses`. */
import { interleave, pieces, type PlayedAnswer } from './answer.ts'
import { openAiErrorType } from './chat-completions.ts'
import { asList, asObject, asString, frame, isJsonObject, textOf, type Json, type ModelFormat } from './format.ts'

const CREATED = 1_790_000_000

export const responses: ModelFormat = {
  name: 'responses',
  matches: (path) => path.endsWith('/responses'),

  view: (_path, body) => {
    const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : asList(body.input)
    const ofAssistant = items.map(
      (item) => item.role === 'assistant' || item.type === 'function_call' || item.type === 'reasoning',
    )
    return {
      model: asString(body.model),
      stream: body.stream === true,
      assistantTurns: ofAssistant.filter((own, at) => own && !ofAssistant[at - 1]).length,
      lastUserText: textOf(items.findLast((item) => item.role === 'user')?.content),
      toolResults: items
        .filter((item) => item.type === 'function_call_output')
        .map((item) => ({ id: asString(item.call_id), text: textOf(item.output) })),
      tools: asList(body.tools).map((tool) => asString(tool.name)),
    }
  },

  violations: (body) => {
    const found: string[] = []
    const open = new Set<string>()
    for (const item of asList(body.input)) {
      const id = asString(item.call_id)
      if (item.type === 'function_call') {
        if (open.has(id)) found.push(`call_id ${id} is used twice`)
        if (!isJsonObject(asString(item.arguments)))
          found.push(`arguments of ${id} are no JSON object: ${asString(item.arguments)}`)
        open.add(id)
      }
      if (item.type === 'function_call_output' && !open.delete(id))
        found.push(`output for ${id} answers no call before it`)
      if (item.role === 'user' && open.size > 0)
        found.push(`a user message stands between a call and its output: ${[...open].join(', ')}`)
    }
    if (open.size > 0) found.push(`calls without an output: ${[...open].join(', ')}`)
    return found
  },

  frames: (answer, view) => {
    let sequence = 0
    const event = (type: string, data: Json) => frame({ type, sequence_number: sequence++, ...data }, type)
    const items = itemsOf(answer)
    const callsFrom = items.findIndex((item) => item.type === 'function_call')
    const before = callsFrom < 0 ? items : items.slice(0, callsFrom)
    const calls = answer.toolCalls.map((call, n) => {
      const place = { output_index: callsFrom + n, item_id: `fc_${call.id}` }
      const item = items[callsFrom + n] ?? {}
      return [
        () =>
          event('response.output_item.added', {
            output_index: place.output_index,
            item: { ...item, arguments: '', status: 'in_progress' },
          }),
        ...pieces(call.arguments, answer.chunkSize).map(
          (delta) => () => event('response.function_call_arguments.delta', { ...place, delta }),
        ),
        () => event('response.function_call_arguments.done', { ...place, arguments: call.arguments }),
        () => event('response.output_item.done', { output_index: place.output_index, item }),
      ]
    })
    return [
      event('response.created', { response: shell(answer, view.model, 'in_progress') }),
      ...before.flatMap((item, index) => framesOfItem(event, answer, item, index)),
      ...interleave(calls).map((make) => make()),
      event(answer.finishReason === 'length' ? 'response.incomplete' : 'response.completed', {
        response: responses.whole(answer, view),
      }),
    ]
  },

  whole: (answer, view) => ({
    ...shell(answer, view.model, answer.finishReason === 'length' ? 'incomplete' : 'completed'),
    incomplete_details: answer.finishReason === 'length' ? { reason: 'max_output_tokens' } : null,
    output: itemsOf(answer),
    usage: {
      input_tokens: answer.usage.input,
      input_tokens_details: { cached_tokens: answer.usage.cacheRead },
      output_tokens: answer.usage.output,
      output_tokens_details: { reasoning_tokens: answer.usage.reasoning },
      total_tokens: answer.usage.input + answer.usage.output,
    },
  }),

  error: (status, message) => ({ error: { message, type: openAiErrorType(status), param: null, code: null } }),
}

const shell = (answer: PlayedAnswer, model: string, status: string) => ({
  id: `resp_${answer.id}`,
  object: 'response',
  created_at: CREATED,
  model,
  status,
})

function itemsOf(answer: PlayedAnswer): Json[] {
  const thinks = answer.reasoning !== '' || answer.signature !== undefined
  return [
    ...(thinks
      ? [
          {
            type: 'reasoning',
            id: `rs_${answer.id}`,
            summary: answer.reasoning === '' ? [] : [{ type: 'summary_text', text: answer.reasoning }],
            encrypted_content: answer.signature ?? null,
          },
        ]
      : []),
    ...(answer.text === ''
      ? []
      : [
          {
            type: 'message',
            id: `msg_${answer.id}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: answer.text, annotations: [] }],
          },
        ]),
    ...answer.toolCalls.map((call) => ({
      type: 'function_call',
      id: `fc_${call.id}`,
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
      status: 'completed',
    })),
  ]
}

function framesOfItem(
  event: (type: string, data: Json) => string,
  answer: PlayedAnswer,
  item: Json,
  index: number,
): string[] {
  const place = { output_index: index, item_id: item.id }
  const reasoning = item.type === 'reasoning'
  const text = reasoning ? answer.reasoning : answer.text
  const part = reasoning ? { summary_index: 0 } : { content_index: 0 }
  const delta = reasoning ? 'response.reasoning_summary_text.delta' : 'response.output_text.delta'
  const opening = reasoning ? { summary: [], encrypted_content: null } : { content: [], status: 'in_progress' }
  const partEvents = (suffix: string) =>
    reasoning && text !== ''
      ? [
          event(`response.reasoning_summary_part.${suffix}`, {
            ...place,
            ...part,
            part: { type: 'summary_text', text: suffix === 'added' ? '' : text },
          }),
        ]
      : []
  return [
    event('response.output_item.added', { output_index: index, item: { ...asObject(item), ...opening } }),
    ...partEvents('added'),
    ...pieces(text, answer.chunkSize).map((piece) => event(delta, { ...place, ...part, delta: piece })),
    ...partEvents('done'),
    event('response.output_item.done', { output_index: index, item }),
  ]
}
