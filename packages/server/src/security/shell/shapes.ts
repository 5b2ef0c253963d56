/** Recognises structures of shell text for the reader. Pure. */
import { forEachChild, type Command, type ParsedScript, type SyntaxNode } from 'unbash'
import { known, UNKNOWN } from './shell-state.ts'

const MAX_NESTING = 16
const MAX_HERE_DOCUMENTS = 100

/** True when parsing would cost too much, because nested substitutions are parsed again at each level. */
export function isTooNested(text: string): boolean {
  if ((text.match(/<</g)?.length ?? 0) > MAX_HERE_DOCUMENTS) return true
  let depth = 0
  for (const [found] of text.matchAll(/\$[({]+|[({)}]/g)) {
    if (found === ')' || found === '}') depth = Math.max(0, depth - 1)
    else depth += found.startsWith('$') ? found.length - 1 : 1
    if (depth > MAX_NESTING) return true
  }
  return false
}

/** True when a function calls itself in a pipeline or in the background. */
export function isForkBomb(name: string, body: SyntaxNode): boolean {
  let calls = 0
  let isDetached = false
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command' && node.name?.value === name) calls++
    if (node.type === 'Statement' && node.background === true) isDetached = true
    if (node.type === 'Pipeline' && node.commands.length > 1) isDetached = true
    forEachChild(node, visit)
  }
  visit(body)
  return calls > 0 && isDetached
}

/** The file that a download writes; null: standard output. */
export function downloadTarget(name: string, args: readonly string[]): string | null {
  const isCurl = name === 'curl'
  const long = isCurl ? /^--output(?:=(.+))?$/ : /^--output-document(?:=(.+))?$/
  const short = isCurl ? /^-[a-zA-Z#]*o(.*)$/ : /^-[a-zA-Z]*O(.*)$/
  for (const [index, arg] of args.entries()) {
    const found = long.exec(arg) ?? (arg.startsWith('--') ? null : short.exec(arg))
    if (found === null) continue
    const target = found[1] === undefined || found[1] === '' ? args[index + 1] : found[1]
    return target === undefined || target === '-' || target === '/dev/stdout' ? null : target
  }
  const url =
    args.find((arg) => /^\w+:\/\/|^[\w-]+\.[\w.-]+\//.test(arg)) ?? args.findLast((arg) => !arg.startsWith('-'))
  const keepsName = isCurl ? args.some((arg) => /^(?:-[a-zA-Z#]*O|--remote-name)/.test(arg)) : name.startsWith('wget')
  if (!keepsName || url === undefined) return null
  const [path = ''] = url.split(/[?#]/, 1)
  return path.slice(path.lastIndexOf('/') + 1) || 'index.html'
}

/** The program name of a word. Unknown text may be empty, so it is left out. */
export function nameOf(word: string): string {
  const whole = known(word).toLowerCase()
  const name = whole.slice(whole.lastIndexOf('/') + 1)
  if (/[*?[]/.test(name) && name !== '[' && name !== '[[')
    return PROGRAMS.find((program) => isMatch(name, program)) ?? UNKNOWN
  return name === '' ? word : name
}

/** Dangerous programs that a glob pattern may stand for. */
const PROGRAMS = [
  'rm',
  'sh',
  'bash',
  'dash',
  'zsh',
  'dd',
  'curl',
  'wget',
  'find',
  'sudo',
  'shred',
  'chmod',
  'xargs',
  'env',
]

function isMatch(pattern: string, name: string): boolean {
  if (pattern.length > 40) return false
  const source = pattern
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.')
    .replaceAll('[!', '[^')
  try {
    return new RegExp(`^${source}$`).test(name)
  } catch {
    // A shell takes an unclosed bracket literally, and no program has one in its name.
    return false
  }
}

/** Positions of parse errors. */
export const positions = (script: ParsedScript | undefined): number[] => script?.errors?.map(({ pos }) => pos) ?? []

/** The assignments in front of a command, as source text. */
export const assignments = (node: Command): string[] =>
  node.prefix.flatMap((item) => (item.type === 'Assignment' ? [item.text] : []))
