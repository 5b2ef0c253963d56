/** What of a call is looked at, and in which order. Source: agent-core.md 4.4; F25, F52. */
import type { AnalyzedCall } from './analyzer.ts'

/** Characters of one corpus that are scanned from its beginning. */
export const CORPUS_CHARS = 30_000
/** Of a longer one, its end is scanned too. */
export const TAIL_CHARS = 5000
const MAX_DEPTH = 100
const PREDICTED = ['summary', 'security_risk']

export type Corpus = {
  /** Each text by itself, cut to what is scanned. */
  segments: readonly string[]
  /** Something was left out, so that nobody can say that nothing is wrong. */
  isTruncated: boolean
}

/** What will be executed or written: every text of the arguments, then the names of the tool. */
export function executableCorpus({ tool_call, tool_name, own_fields = [] }: AnalyzedCall): Corpus {
  return cut([...argumentTexts(tool_call.arguments, own_fields), tool_name, tool_call.name])
}

/** What is said about the call. Signed thinking blocks and dictionary keys are not looked at. */
export function textCorpus({ summary, reasoning, thought }: AnalyzedCall): Corpus {
  return cut([summary ?? '', reasoning ?? '', thought])
}

/** Values of the arguments, depth first; the raw text when it is no JSON or too deep to follow. */
function argumentTexts(json: string, own: readonly string[]): string[] {
  let root: unknown
  try {
    root = JSON.parse(json)
  } catch {
    return [json]
  }
  const texts: string[] = []
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value, depth } = at
    if (typeof value === 'string') texts.push(value)
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH) return [json]
    const isPredicted = (key: string): boolean => depth === 0 && PREDICTED.includes(key) && !own.includes(key)
    const members = Array.isArray(value)
      ? (value as unknown[])
      : Object.entries(value).flatMap(([key, member]) => (isPredicted(key) ? [] : [member as unknown]))
    for (const member of members.toReversed()) open.push({ value: member, depth: depth + 1 })
  }
  return texts
}

/** Each segment gets what the ones before it have left; of what is cut off, the very end is kept. */
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
