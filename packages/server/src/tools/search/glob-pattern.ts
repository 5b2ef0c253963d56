/**
 * File patterns, as one extended regular expression over a path relative to the start of the search. All file searches
 * parse
 * patterns here, so that `rg`, `find` and other programs agree. Sources: agent-core.md 8.7, 8.8.
 *
 *   G1. `*` and `?` stay within a name; `**` crosses directories; `{a,b}` and `[a-z]` are alternatives.
 *   G2. No wildcard matches a dot at the beginning of a name; a literal dot does.
 *   G3. A pattern without a slash matches at any depth.
 */
import { Refusal } from '../refusal.ts'

const MAX_ALTERNATIVES = 256

export type GlobPattern = {
  /** For `grep -E`; the same text is a JavaScript expression. */
  ere: string
  /** Names that begin with a dot must be searched. */
  seesHidden: boolean
}

/** @throws Refusal when the braces expand to too many patterns. */
export function readGlob(pattern: string): GlobPattern {
  const alternatives = expandBraces(pattern).map(segmentsOf)
  const ere = alternatives.map((segments) => segments.map(translate).join('')).join('|')
  const isDotted = ({ text }: Segment) => /^\\?\./.test(text)
  return { ere: `^(${ere})$`, seesHidden: alternatives.some((segments) => segments.some(isDotted)) }
}

type Segment = { text: string; isLast: boolean }

function segmentsOf(pattern: string): Segment[] {
  const isAnchored = pattern.replace(/\/$/, '').includes('/')
  const names = pattern.split('/').filter((name) => name !== '' && name !== '.')
  if (!isAnchored) names.unshift('**')
  if (pattern.endsWith('/') || names.length === 0) names.push('**')
  return names.map((text, index) => ({ text, isLast: index === names.length - 1 }))
}

const ANY_NAME = '[^./][^/]*'

function translate({ text, isLast }: Segment): string {
  if (text === '**') return isLast ? `(${ANY_NAME}/)*${ANY_NAME}` : `(${ANY_NAME}/)*`
  return isLast ? nameOf(text) : `${nameOf(text)}/`
}

/** One name. A run of wildcards is put into one order, so that only its first one must exclude a leading dot. */
function nameOf(text: string): string {
  let ere = ''
  for (let at = 0; at < text.length;) {
    const [run] = /^[*?]+/.exec(text.slice(at)) ?? []
    if (run !== undefined) {
      ere += wildcards(run, { isFirst: at === 0, next: text[at + run.length] })
      at += run.length
      continue
    }
    const [set] = /^\[[!^]?\]?[^\]]*\]/.exec(text.slice(at)) ?? []
    if (set !== undefined) {
      ere += setOf(set)
      at += set.length
      continue
    }
    if (text[at] === '\\' && at + 1 < text.length) at++
    const char = String.fromCodePoint(text.codePointAt(at)!)
    ere += literal(char)
    at += char.length
  }
  return ere
}

function wildcards(run: string, { isFirst, next }: { isFirst: boolean; next: string | undefined }): string {
  const singles = run.replaceAll('*', '').length
  const isOpen = run.includes('*')
  if (!isFirst) return '[^/]'.repeat(singles) + (isOpen ? '[^/]*' : '')
  if (singles > 0) return `[^./]${'[^/]'.repeat(singles - 1)}${isOpen ? '[^/]*' : ''}`
  // The star may match nothing only where no dot follows.
  return next === undefined || next === '.' || next === '\\' || next === '[' ? ANY_NAME : `(${ANY_NAME})?`
}

/** A bracket expression. A backslash is literal inside one, so members are put where they need no escape. */
function setOf(text: string): string {
  const isNegated = text[1] === '!' || text[1] === '^'
  const members = text.slice(isNegated ? 2 : 1, -1).replaceAll(/\\(.)/g, '$1')
  const rest = members.replaceAll(/[\]^/\\]/g, '').replace(/^-|-$/, '')
  const has = (char: string) => members.includes(char)
  const dash = members.startsWith('-') || members.endsWith('-') ? '-' : ''
  // A closing bracket becomes a separate alternative: in front, where POSIX requires it, JavaScript would parse an
  // empty set.
  const caret = has('^') ? '^' : ''
  if (isNegated) return `[^/${rest}${caret}${dash}]`
  const set = rest === '' && caret === '' ? dash : `[${rest}${caret === '' || rest === '' ? '' : caret}${dash}]`
  const options = [
    ...(rest === '' ? (dash === '' ? [] : ['-']) : [set]),
    ...(has(']') ? [']'] : []),
    ...(rest === '' && caret !== '' ? ['\\^'] : []),
  ]
  return options.length === 1 ? options[0]! : `(${options.join('|')})`
}

function literal(char: string): string {
  if (char === '^' || char === '\\') return `\\${char}`
  return '.[()*+?{|$'.includes(char) ? `[${char}]` : char
}

/** Returns the patterns without braces that a pattern with braces expands to. */
function expandBraces(pattern: string): string[] {
  const group = firstGroup(pattern)
  if (group === null) return [pattern]
  const { head, options, tail } = group
  const tails = expandBraces(tail)
  const expanded = options.flatMap(expandBraces).flatMap((option) => tails.map((rest) => head + option + rest))
  if (expanded.length > MAX_ALTERNATIVES)
    throw new Refusal(`The braces of ${pattern} stand for more than ${MAX_ALTERNATIVES} patterns; use fewer of them.`)
  return expanded
}

function firstGroup(pattern: string): { head: string; options: string[]; tail: string } | null {
  let depth = 0
  let start = -1
  let commas: number[] = []
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === '\\') at++
    else if (char === '{' && depth++ === 0) {
      start = at
      commas = []
    } else if (char === ',' && depth === 1) commas.push(at)
    else if (char === '}' && depth > 0 && --depth === 0) {
      if (commas.length === 0) continue
      const cuts = [start, ...commas, at]
      const options = cuts.slice(1).map((end, index) => pattern.slice(cuts[index]! + 1, end))
      return { head: pattern.slice(0, start), options, tail: pattern.slice(at + 1) }
    }
  }
  return null
}
