/** What OpenAI's Responses API refuses. */
import { asList, asObject, asString, isJsonObject, type Json } from '../format.ts'
import { fromUrl, type SentImage } from './images.ts'
import { CUSTOM_TOOL_RULES } from './custom-tools.ts'
import { longId, openAiRules } from './openai.ts'
import { each, numbered, repeated, type Asked, type Rule } from './rule.ts'

const REASONING = 'https://platform.openai.com/docs/guides/reasoning'
const MAX_ID = 64
const LEAST_LIMIT = 16

const items = ({ body }: Asked): [item: Json, at: number][] => numbered(body.input)
const ofType = (asked: Asked, type: string) => items(asked).filter(([item]) => item.type === type)
const calls = (asked: Asked) => [...ofType(asked, 'function_call'), ...ofType(asked, 'custom_tool_call')]

const images = (body: Json): SentImage[] =>
  numbered(body.input).flatMap(([item, at]) =>
    [...numbered(item.content), ...numbered(item.output)].flatMap(
      ([{ image_url }, n]) => fromUrl(`input[${at}].content[${n}]`, asString(image_url)) ?? [],
    ),
  )

const PAIR_RULES: readonly Rule[] = [
  {
    id: 'unanswered-call',
    source: 'https://github.com/continuedev/continue/pull/11785',
    check: (asked) => {
      const answered = ofType(asked, 'function_call_output').map(([{ call_id }]) => call_id)
      return each(
        ofType(asked, 'function_call'),
        ([{ call_id }]) => !answered.includes(call_id),
        ([{ call_id }]) => `No tool output found for function call ${asString(call_id)}.`,
      )
    },
  },
  {
    id: 'result-without-call',
    source: 'https://github.com/continuedev/continue/issues/10092',
    check: (asked) =>
      each(
        ofType(asked, 'function_call_output'),
        ([{ call_id }, at]) => !ofType(asked, 'function_call').some(([call, n]) => n < at && call.call_id === call_id),
        ([{ call_id }]) => `No tool call found for function call output with call_id ${asString(call_id)}.`,
      ),
  },
  {
    id: 'repeated-call-id',
    source: 'https://github.com/continuedev/continue/pull/11785',
    check: (asked) =>
      repeated(calls(asked).map(([{ call_id }]) => asString(call_id))).map(
        (id) => `Duplicate item found with id ${id}.`,
      ),
  },
  {
    id: 'call-id',
    source: 'https://github.com/decolua/9router/issues/393',
    code: 'string_above_max_length',
    check: (asked) =>
      each(
        items(asked),
        ([{ call_id }]) => asString(call_id).length > MAX_ID,
        ([{ call_id }, at]) => longId(`input[${at}].call_id`, asString(call_id), MAX_ID),
      ),
  },
  {
    id: 'call-arguments',
    source: 'https://github.com/local-inference-lab/vllm/issues/684',
    check: (asked) =>
      each(
        ofType(asked, 'function_call'),
        ([item]) => !isJsonObject(asString(item.arguments)),
        ([, at]) => `Invalid 'input[${at}].arguments': expected a JSON object.`,
      ),
  },
]

const REASONING_RULES: readonly Rule[] = [
  {
    id: 'reasoning-last',
    source: 'https://github.com/vercel/ai/issues/7099',
    check: (asked) =>
      each(
        ofType(asked, 'reasoning'),
        ([, at]) => {
          const next = asList(asked.body.input)[at + 1]
          return next === undefined || next.role === 'user' || asString(next.type).endsWith('_output')
        },
        ([{ id }]) => `Item '${asString(id)}' of type 'reasoning' was provided without its required following item.`,
      ),
  },
  {
    id: 'reasoning-not-stored',
    source: 'https://github.com/openai/openai-agents-python/issues/2020',
    check: (asked) =>
      each(
        [...ofType(asked, 'reasoning'), ...ofType(asked, 'item_reference')],
        ([{ encrypted_content }]) => asked.body.store === false && !encrypted_content,
        ([{ id }]) =>
          `Item with id '${asString(id)}' not found. Items are not persisted when \`store\` is set to false.`,
      ),
  },
  {
    id: 'encrypted',
    source: 'https://github.com/openai/codex/issues/8145',
    code: 'invalid_encrypted_content',
    check: (asked) =>
      each(
        ofType(asked, 'reasoning').filter(([{ encrypted_content }]) => Boolean(encrypted_content)),
        ([{ encrypted_content }]) =>
          !asked.issued.answersWith(asString(encrypted_content)).some(({ account }) => account === asked.account),
        ([{ encrypted_content }]) =>
          `The encrypted content ${asString(encrypted_content).slice(0, 4)}... could not be verified.`,
      ),
  },
  {
    id: 'repeated-reasoning',
    source: 'https://github.com/continuedev/continue/pull/11785',
    check: (asked) =>
      repeated(ofType(asked, 'reasoning').flatMap(([{ id }]) => (typeof id === 'string' ? [id] : []))).map(
        (id) => `Duplicate item found with id ${id}.`,
      ),
  },
]

const CONTENT_RULES: readonly Rule[] = [
  {
    id: 'content-type',
    source: 'https://platform.openai.com/docs/api-reference/responses/create',
    check: (asked) =>
      items(asked).flatMap(([{ role, content }, at]) =>
        each(
          asList(content),
          ({ type }) =>
            role === 'assistant' ? !/^(output_text|refusal)$/.test(asString(type)) : type === 'output_text',
          ({ type }) => `Invalid value: '${asString(type)}'. (input[${at}].content)`,
        ),
      ),
  },
  {
    id: 'output-limit',
    source: 'https://platform.openai.com/docs/api-reference/responses/create',
    code: 'integer_below_min_value',
    check: ({ body }) =>
      typeof body.max_output_tokens === 'number' && body.max_output_tokens < LEAST_LIMIT
        ? [`Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${LEAST_LIMIT}.`]
        : [],
  },
  {
    id: 'effort',
    source: REASONING,
    code: 'unsupported_parameter',
    check: ({ body, view }) =>
      view.model.startsWith('gpt-4') && asObject(body.reasoning).effort !== undefined
        ? ["Unsupported parameter: 'reasoning.effort' is not supported with this model."]
        : [],
  },
]

export const RESPONSES_RULES: readonly Rule[] = [
  ...PAIR_RULES,
  ...REASONING_RULES,
  ...CONTENT_RULES,
  ...CUSTOM_TOOL_RULES,
  ...openAiRules({
    tools: (body) =>
      numbered(body.tools).flatMap(([{ type, name, parameters }, at]) =>
        // A custom tool has no schema.
        type === 'function' ? [{ name: asString(name), parameters, param: `tools[${at}]` }] : [],
      ),
    images,
  }),
]
