/** What OpenAI's Responses API refuses of custom tools, whose calls are one text. */
import { asObject, asString, type Json } from '../format.ts'
import { each, numbered, type Asked, type Rule } from './rule.ts'

const CALLING = 'https://platform.openai.com/docs/guides/function-calling#custom-tools'
const GRAMMARS = 'https://platform.openai.com/docs/guides/function-calling#context-free-grammars'
const REFERENCE = 'https://platform.openai.com/docs/api-reference/responses/create'

const items = ({ body }: Asked, type: string): [item: Json, at: number][] =>
  numbered(body.input).filter(([item]) => item.type === type)
const tools = ({ body }: Asked): [tool: Json, at: number][] =>
  numbered(body.tools).filter(([tool]) => tool.type === 'custom')
const grammars = (asked: Asked) => tools(asked).filter(([{ format }]) => asObject(format).type === 'grammar')

/** Names that a grammar uses and does not define. */
function undefinedNames(definition: string): string[] {
  const bare = definition.replaceAll(/"(?:\\.|[^"\\\n])*"|\/(?:\\.|[^/\\\n])+\//g, ' ')
  const defined = [...bare.matchAll(/^([a-z_]\w*)(?:\.\d+)?\s*:/gim)].map(([, name]) => name)
  return [...bare.matchAll(/\b[a-z_]\w*\b/gi)].flatMap(([name]) => (defined.includes(name) ? [] : [name]))
}

export const CUSTOM_TOOL_RULES: readonly Rule[] = [
  {
    id: 'custom-tool-model',
    source: 'https://cookbook.openai.com/examples/gpt-5/gpt-5_new_params_and_tools',
    check: (asked) =>
      each(
        tools(asked),
        () => !/^gpt-([5-9]|\d\d)/.test(asked.view.model),
        () => `Custom tools are not supported with ${asked.view.model}.`,
      ),
  },
  {
    id: 'custom-tool-name',
    source: 'https://github.com/langchain-ai/langchainjs/pull/9202',
    code: 'missing_required_parameter',
    check: (asked) =>
      each(
        tools(asked),
        ([{ name }]) => !/^[a-zA-Z0-9_-]{1,64}$/.test(asString(name)),
        ([, at]) => `Missing required parameter: 'tools[${at}].name'.`,
      ),
  },
  {
    id: 'custom-tool-format',
    source: REFERENCE,
    code: 'invalid_value',
    check: (asked) =>
      each(
        tools(asked),
        ([{ format, parameters }]) => {
          const { type, syntax } = asObject(format)
          const isKnown = type === 'text' || (type === 'grammar' && (syntax === 'lark' || syntax === 'regex'))
          return parameters !== undefined || (format !== undefined && !isKnown)
        },
        ([, at]) => `Invalid value: 'tools[${at}].format'.`,
      ),
  },
  {
    id: 'custom-tool-grammar',
    source: GRAMMARS,
    code: 'invalid_grammar',
    check: (asked) =>
      grammars(asked).flatMap(([{ format }, at]) => {
        const { syntax, definition } = asObject(format)
        const text = asString(definition)
        if (text.trim() === '') return [`Missing required parameter: 'tools[${at}].format.definition'.`]
        if (syntax === 'regex') return []
        if (!/^start\s*:/m.test(text)) return [`Invalid grammar in tools[${at}]: no start rule.`]
        // The engine has neither look-around nor lazy quantifiers.
        const odd = /\(\?[=!<]|[*+?]\?/.exec(text)
        return [
          ...undefinedNames(text).map((name) => `Invalid grammar in tools[${at}]: unknown name ${name}.`),
          ...(odd === null ? [] : [`Invalid grammar in tools[${at}]: ${odd[0]} is not supported.`]),
        ]
      }),
  },
  {
    id: 'custom-call',
    source: CALLING,
    code: 'missing_required_parameter',
    check: (asked) =>
      each(
        items(asked, 'custom_tool_call'),
        ([{ name, call_id, input }]) => asString(name) === '' || asString(call_id) === '' || typeof input !== 'string',
        ([, at]) => `Missing required parameter: 'input[${at}].input'.`,
      ),
  },
  {
    id: 'unanswered-custom-call',
    source: 'https://github.com/Soju06/codex-lb/issues/1168',
    check: (asked) => {
      const answered = items(asked, 'custom_tool_call_output').map(([{ call_id }]) => call_id)
      return each(
        items(asked, 'custom_tool_call'),
        ([{ call_id }]) => !answered.includes(call_id),
        ([{ call_id }]) => `No tool output found for custom tool call ${asString(call_id)}.`,
      )
    },
  },
  {
    id: 'custom-result-without-call',
    source: 'https://github.com/Soju06/codex-lb/issues/1168',
    check: (asked) =>
      each(
        items(asked, 'custom_tool_call_output'),
        ([{ call_id }, at]) =>
          !items(asked, 'custom_tool_call').some(([call, n]) => n < at && call.call_id === call_id),
        ([{ call_id }]) => `No tool call found for custom tool call output with call_id ${asString(call_id)}.`,
      ),
  },
]
