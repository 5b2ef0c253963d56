/**
 * Freeform tools: tools whose calls are one text that follows a grammar, instead of JSON. The log has every call as JSON, so that a
 * conversation can change its model; the text is put in and taken out at the request. Pure. Source: agent-core.md 8.9.
 */
import type { LanguageModelV4FunctionTool, LanguageModelV4ProviderTool } from '@ai-sdk/provider'
import { parseRecord } from '../../lib/index.ts'
import type { LlmCall, LlmTool } from '../llm.ts'
import type { ModelFeatures } from '../models/features.ts'
import type { Remote } from '../models/route.ts'

/** The parameter that has the text, by the name of a tool. */
export type FreeformTools = ReadonlyMap<string, string>

/** Returns the tools of a request that this model calls with a text. */
export function freeformTools(
  tools: readonly LlmTool[],
  { api }: Pick<Remote, 'api'>,
  { customTools }: Pick<ModelFeatures, 'customTools'>,
): FreeformTools {
  const isOffered = api === 'responses' && customTools
  return new Map(isOffered ? tools.flatMap(({ name, freeform }) => (freeform ? [[name, freeform.parameter]] : [])) : [])
}

/** Returns a tool in the form of the provider library. */
export function offeredTool(
  { name, description, parameters, freeform }: LlmTool,
  customs: FreeformTools,
): LanguageModelV4FunctionTool | LanguageModelV4ProviderTool {
  if (freeform === undefined || !customs.has(name))
    return { type: 'function', name, description, inputSchema: parameters }
  const format = { type: 'grammar', syntax: 'lark', definition: freeform.grammar }
  return { type: 'provider', id: 'openai.custom', name, args: { description: freeform.description, format } }
}

/** Calls are parsed once, not again with every later request. */
const texts = new WeakMap<object, string>()

/** Returns the text of a call; a call that another model made without it, or whose arguments were refused, as it is stored. */
export function textOfCall(call: Pick<LlmCall, 'arguments'>, parameter: string): string {
  const known = texts.get(call)
  if (known !== undefined) return known
  const value = parseRecord(call.arguments)?.[parameter]
  const text = typeof value === 'string' ? value : call.arguments
  texts.set(call, text)
  return text
}

/**
 * Returns a call with JSON arguments. The library gives the text of a freeform call as a JSON string. A text that is JSON itself is taken
 * as the arguments: some models write them out of habit. Source: https://github.com/openai/codex/issues/35361
 */
export function withArguments(call: LlmCall, customs: FreeformTools): LlmCall {
  const parameter = customs.get(call.name)
  if (parameter === undefined || !call.arguments.startsWith('"')) return call
  const text = JSON.parse(call.arguments) as string
  return { ...call, arguments: parseRecord(text) === null ? JSON.stringify({ [parameter]: text }) : text }
}
