/** The texts of a call that patterns search, in order. Source: agent-core.md 4.4; F25, F52. */
import type { AnalyzedCall } from './analyzer.ts'

/** Characters that are scanned from the start of a corpus. */
const CORPUS_CHARS = 30_000
/** Characters that are scanned from the end of a longer corpus. */
const TAIL_CHARS = 5000
const MAX_DEPTH = 100
const PREDICTED = ['summary', 'security_risk']

export type Corpus = {
  /** The scanned parts of each text. */
  segments: readonly string[]
  /** True when a part was left out, so that LOW would be unjustified. */
  isTruncated: boolean
}

/** Texts that will be executed or written: all strings of the arguments, then the tool names. */
export function argumentCorpus({ tool_call, tool_name, own_fields = [] }: AnalyzedCall): Corpus {
  return cut([...argumentTexts(tool_call.arguments, own_fields), tool_name, tool_call.name])
}

/** Texts about the call. Signed thinking blocks and object keys are excluded. */
export function proseCorpus({ summary, reasoning, thought }: AnalyzedCall): Corpus {
  return cut([summary ?? '', reasoning ?? '', thought])
}

/** Strings of the arguments, depth first; the raw text when it is not JSON or is nested too deep. */
function argumentTexts(json: string, own: readonly string[]): string[] {
  let root: unknown
  try {
    root = JSON.parse(json)
  } catch {
    return [json]
  }
  const texts: string[] = []
  const stack: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { value, depth } = at
    if (typeof value === 'string') texts.push(value)
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH) return [json]
    const isPredicted = (key: string): boolean => depth === 0 && PREDICTED.includes(key) && !own.includes(key)
    const members = Array.isArray(value)
      ? (value as unknown[])
      : Object.entries(value).flatMap(([key, member]) => (isPredicted(key) ? [] : [member as unknown]))
    for (const member of members.toReversed()) stack.push({ value: member, depth: depth + 1 })
  }
  return texts
}

/** Cuts the texts to the limits: each text gets the remaining characters, and the end of the omitted rest is kept. */
function cut(texts: readonly string[]): Corpus {
  const segments: string[] = []
  let left = CORPUS_CHARS
  let tail = TAIL_CHARS
  let isTruncated = false
  for (const text of texts.filter((each) => each !== '')) {
    if (text.length <= left) {
      segments.push(text)
      left -= text.length + 1
      continue
    }
    isTruncated = true
    if (left > 0) segments.push(text.slice(0, left))
    const rest = text.slice(Math.max(left, 0))
    if (tail > 0) segments.push(rest.slice(-tail))
    tail -= rest.length
    left = 0
  }
  return { segments, isTruncated }
}
