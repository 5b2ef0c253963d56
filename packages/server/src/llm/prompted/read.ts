/** Parses the call that a model wrote as text. Pure and total. Source: agent-core.md 1.14. */
import type { LlmTool } from '../llm.ts'

export type Read = {
  /** The text before the call. */
  text: string
  /** The reasoning, where the model marks it. */
  thought: string | null
  /** Null: the answer contains no call. */
  call: { name: string; arguments: string } | null
}

/** The beginning of a call. */
export const OPENING = '<function='

const BLOCK = /<function=([^>\n]*)>?([\s\S]*)$/
/**
 * A value ends where the next parameter, the call or the text ends, not where its own text looks like an end. Some
 * models
 * write `<parameter=name=value</parameter>`.
 */
const PARAMETER =
  /<parameter=([^>=\n]+)(?:>|=)([\s\S]*?)(?:<\/parameter>(?=\s*(?:<parameter=|<\/function|<\/tool_call|$))|(?=<parameter=)|(?=<\/function)|$)/g
const WRAPPERS = /<\/?tool_call>/g

/**
 * Parses the first call of an answer and ignores the text after it. Values are converted to the types in the tool's
 * schema where
 * possible; other values stay text, and the tool reports them.
 */
export function readCall(answer: string, tools: readonly LlmTool[]): Read {
  const { thought, rest } = thoughtIn(answer)
  const at = rest.indexOf(OPENING)
  if (at === -1) return { text: rest, thought, call: null }
  const text = rest.slice(0, at).replaceAll(WRAPPERS, '').trimEnd()
  const [, written = '', behind = ''] = BLOCK.exec(rest.slice(at)) ?? []
  const name = written.trim()
  const body = firstBlock(behind)
  const schema = propertiesOf(tools.find((tool) => tool.name === name))
  const values: Record<string, unknown> = {}
  for (const [, key = '', value = ''] of body.matchAll(PARAMETER)) {
    const own = key.trim()
    if (own !== '') values[own] = converted(trimmed(value), schema[own])
  }
  return { text, thought, call: { name, arguments: JSON.stringify(values) } }
}

/** Returns the text up to the end of the first call, or to the beginning of a second one. */
function firstBlock(text: string): string {
  const end = text.search(/<\/function>?\s*(?:<\/tool_call>\s*)?(?:$|<function=|<tool_call>)/)
  if (end !== -1) return text.slice(0, end)
  const close = text.lastIndexOf('</function')
  return close === -1 ? text : text.slice(0, close)
}

function thoughtIn(answer: string): { thought: string | null; rest: string } {
  const end = answer.indexOf('</think>')
  const isBefore = end !== -1 && (!answer.includes(OPENING) || end < answer.indexOf(OPENING))
  if (!isBefore) return { thought: null, rest: answer }
  const thought = answer
    .slice(0, end)
    .replace(/^\s*<think>/, '')
    .trim()
  return { thought: thought === '' ? null : thought, rest: answer.slice(end + '</think>'.length).trimStart() }
}

/** One line end on each side belongs to the format, the rest to the value. */
const trimmed = (value: string): string => value.replace(/^\r?\n/, '').replace(/\r?\n$/, '')

function propertiesOf(tool: LlmTool | undefined): Record<string, Record<string, unknown>> {
  return (tool?.parameters['properties'] ?? {}) as Record<string, Record<string, unknown>>
}

function converted(text: string, schema: Record<string, unknown> | undefined): unknown {
  const { type } = schema ?? {}
  if (typeof type !== 'string' || type === 'string') return text
  try {
    const value: unknown = JSON.parse(text.trim())
    return value
  } catch {
    return text
  }
}
