/**
 * Patterns of files that an archive leaves out. Both formats read them alike: a star stays within one name, `**` crosses directories, a
 * pattern without a slash matches names at any depth, one with a slash begins at the archived directory, and a final slash means
 * directories alone. Source: agent-server-wire.md 1.8.
 */
import { ParleyError } from '@parley/protocol'

/** True for a path, relative to the archived directory, that is left out with everything below it. */
export type IsExcluded = (path: readonly string[], isDirectory: boolean) => boolean

type Pattern = { names: readonly string[]; isAnchored: boolean; forDirectories: boolean }

/** @throws ParleyError `bad_request` for a pattern that names nothing below the archived directory. */
function readPattern(text: string): Pattern {
  const names = text.split('/').filter((name) => name !== '' && name !== '.')
  if (names.length === 0 || names.includes('..') || text.includes('\0'))
    throw new ParleyError('bad_request', 'An exclude must name files below the archived directory')
  const isAnchored = text.replace(/\/+$/, '').includes('/')
  return { names, isAnchored, forDirectories: text.endsWith('/') }
}

/** @throws ParleyError `bad_request` as for every pattern. */
export function isExcludedBy(texts: readonly string[]): IsExcluded {
  const patterns = texts.map(readPattern)
  return (path, isDirectory) =>
    patterns.some(({ names, isAnchored, forDirectories }) => {
      if (forDirectories && !isDirectory) return false
      return matches(isAnchored ? names : ['**', ...names], path, isEveryName, matchesName)
    })
}

/** The same patterns for git, relative to its working directory. @throws ParleyError `bad_request` as for every pattern. */
export function pathspecsOf(texts: readonly string[]): string[] {
  return texts.map(readPattern).flatMap(({ names, isAnchored, forDirectories }) => {
    const path = [...(isAnchored ? [] : ['**']), ...names].join('/')
    return [...(forDirectories ? [] : [path]), `${path}/**`].map((glob) => `:(exclude,glob)${glob}`)
  })
}

const isEveryName = (name: string): boolean => name === '**'

/** One name of a pattern against one name of a path. */
const matchesName = (pattern: string, name: string): boolean =>
  matches(tokensOf(pattern), [...name], (token) => token === '*', matchesCharacter)

/** `*`, `?`, a set in brackets, or one character. */
function tokensOf(pattern: string): string[] {
  return pattern.match(/\\[^]|\[[!^]?\]?[^\]]*\]|[^]/gu) ?? []
}

function matchesCharacter(token: string, character: string): boolean {
  if (token === '?') return true
  if (token.length > 1 && token.startsWith('\\')) return token.slice(1) === character
  if (token.length < 3 || !token.startsWith('[')) return token === character
  const isNegated = /^\[[!^]/.test(token)
  const members = Array.from(token.slice(isNegated ? 2 : 1, -1))
  return isNegated !== isInSet(members, character)
}

function isInSet(members: readonly string[], character: string): boolean {
  for (let at = 0; at < members.length; at++) {
    const [from = '', dash, to] = members.slice(at, at + 3)
    if (dash === '-' && to !== undefined) {
      if (from <= character && character <= to) return true
      at += 2
    } else if (from === character) return true
  }
  return false
}

/**
 * True when the pattern matches the whole text. Only the last star is extended again after a mismatch, so the time is at most the product
 * of both lengths.
 */
function matches<P, T>(
  pattern: readonly P[],
  text: readonly T[],
  isStar: (token: P) => boolean,
  isMatch: (token: P, item: T) => boolean,
): boolean {
  let [p, t] = [0, 0]
  let last: { p: number; t: number } | null = null
  while (t < text.length) {
    const token = pattern[p]
    if (token !== undefined && isStar(token)) {
      last = { p, t }
      p += 1
    } else if (token !== undefined && isMatch(token, text[t] as T)) {
      p += 1
      t += 1
    } else if (last !== null) {
      last.t += 1
      p = last.p + 1
      t = last.t
    } else return false
  }
  return pattern.slice(p).every(isStar)
}
