/** Conversions of messages, kept as long as their messages, so that a request converts only what is new in it. */
import type { LlmMessage } from '../llm.ts'
import type { AssistantOptions } from './assistant.ts'

/** The options that a conversion depends on. */
export type ConversionOptions = AssistantOptions & { vision: boolean; stringContent?: boolean }

type Kept = { options: ConversionOptions; converted: unknown }

/** The conversion for the model that was asked last: two models seldom alternate. */
const kept = new WeakMap<LlmMessage, Kept>()

/**
 * Returns the conversion of a message, which an earlier request with equal options has got, too: nothing may change it.
 * @param convert converts every message of its role to the same type
 */
export function convertedOnce<M extends LlmMessage, T>(
  message: M,
  options: ConversionOptions,
  convert: (message: M, options: ConversionOptions) => T,
): T {
  const known = kept.get(message)
  if (known !== undefined && areEqual(known.options, options)) return known.converted as T
  const converted = convert(message, options)
  kept.set(message, { options, converted })
  return converted
}

function areEqual(one: ConversionOptions, other: ConversionOptions): boolean {
  return (
    one === other ||
    (one.api === other.api &&
      one.origin === other.origin &&
      one.echoReasoning === other.echoReasoning &&
      one.needsReasoning === other.needsReasoning &&
      one.needsSignature === other.needsSignature &&
      one.vision === other.vision &&
      one.stringContent === other.stringContent &&
      one.freeform.size === other.freeform.size &&
      [...one.freeform].every(([name, parameter]) => other.freeform.get(name) === parameter))
  )
}
