/** What a word of a shell command becomes: quotes taken away, expansions followed as far as the text itself tells. */
import {
  forEachChild,
  parse,
  type ParameterExpansionPart,
  type ParsedScript,
  type SyntaxNode,
  type Word,
  type WordPart,
} from 'unbash'
import { type Knowledge, known, UNKNOWN } from './knowledge.ts'

/** Text that a script writes to its output, as far as it is known. */
export type Substitute = (script: ParsedScript | undefined) => string
/** The path under which a process substitution can be read. */
export type ProcessFile = (script: ParsedScript | undefined, operator: '<' | '>') => string

export type Expansion = {
  shell: Knowledge
  substitute: Substitute
  processFile: ProcessFile
  /** Runs what stands in a part whose own value is not followed. */
  visit: (node: SyntaxNode) => void
}

const MAX_FIELDS = 256
/** What well-known variables begin with, for the trick that takes a slash out of one. */
const BEGINNINGS: Record<string, string> = { HOME: '/h', PWD: '/w', OLDPWD: '/w', PATH: '/usr/bin', SHELL: '/bin/sh' }

/** The fields one word becomes: none for an unquoted nothing, several where it is split or has braces. */
export function expand(word: Word, at: Expansion): string[] {
  at.shell.step()
  const texts = braced(word, at.shell)
  if (texts === null) return fieldsOf(word, at)
  return texts.flatMap((text) => wordsOf(text).flatMap((each) => fieldsOf(each, at))).slice(0, MAX_FIELDS)
}

/** The word as one text, as in an assignment, where nothing is split. */
export function expandText(word: Word | undefined, at: Expansion): string {
  if (word === undefined) return ''
  at.shell.step()
  const fields = new Fields(at.shell.variables.get('IFS'))
  for (const part of word.parts ?? []) take(part, fields, at, true)
  return word.parts === undefined ? word.value : fields.all().join(' ')
}

/** Text with expansions in it, such as a here-document. */
export function expandParts(parts: readonly WordPart[], at: Expansion): string {
  const fields = new Fields(at.shell.variables.get('IFS'))
  for (const part of parts) take(part, fields, at, true)
  return fields.all().join(' ')
}

function fieldsOf(word: Word, at: Expansion): string[] {
  if (word.parts === undefined) return [word.value]
  const fields = new Fields(at.shell.variables.get('IFS'))
  for (const part of word.parts) take(part, fields, at, false)
  return fields.all()
}

class Fields {
  readonly #done: string[] = []
  readonly #separators: RegExp
  #current: string | null = null

  constructor(separators = ' \t\n') {
    const characters = separators === '' ? '' : separators.replace(/[\]\\^-]/g, '\\$&')
    this.#separators = characters === '' ? /(?!)/ : new RegExp(`[${characters}]+`)
  }

  add(text: string): void {
    this.#current = (this.#current ?? '') + text
  }

  /** An expansion outside of quotes: white space in it ends fields. */
  split(text: string): void {
    for (const [index, piece] of text.split(this.#separators).entries()) {
      if (index > 0) this.#close()
      if (piece !== '') this.add(piece)
    }
  }

  all(): string[] {
    this.#close()
    return this.#done
  }

  #close(): void {
    if (this.#current !== null && this.#done.length < MAX_FIELDS) this.#done.push(this.#current)
    this.#current = null
  }
}

function take(part: WordPart, fields: Fields, at: Expansion, isQuoted: boolean): void {
  const put = (text: string): void => (isQuoted ? fields.add(text) : fields.split(text))
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return fields.add(part.value)
    case 'Glob':
    case 'ExtendedGlob':
    case 'BraceExpansion':
      return fields.add(part.text)
    case 'DoubleQuoted':
    case 'LocaleString':
      fields.add('')
      for (const child of part.parts) take(child, fields, at, true)
      return
    case 'SimpleExpansion':
      // Also between quotes it stays as many words as there are.
      if (part.text === '$@') return fields.split(at.shell.variable('@'))
      return put(at.shell.variable(part.text.slice(1)))
    case 'ParameterExpansion':
      if (part.prefix === undefined && /^[@*]$/.test(part.index?.text ?? ''))
        return fields.split(at.shell.variable(part.parameter))
      return put(parameter(part, at))
    case 'CommandExpansion':
      return put(at.substitute(part.script).replace(/\n+$/, ''))
    case 'ProcessSubstitution':
      return fields.add(at.processFile(part.script, part.operator))
    case 'ArithmeticExpansion':
      forEachChild(part, at.visit)
      return fields.add(UNKNOWN)
    default:
      part satisfies never
  }
}

function parameter(part: ParameterExpansionPart, at: Expansion): string {
  const { parameter: name, operation } = part
  if (part.prefix !== undefined || part.index !== undefined) {
    forEachChild(part, at.visit)
    return UNKNOWN
  }
  const value = at.shell.variable(name)
  switch (operation?.type) {
    case undefined:
      return value
    case 'Default': {
      const isSet = value !== '' && value !== UNKNOWN
      if (operation.operator.includes('+')) return value === '' ? '' : expandText(operation.operand, at)
      if (operation.operator.includes('?') || isSet) return value
      return expandText(operation.operand, at)
    }
    case 'Slice': {
      const source = at.shell.variables.get(name) ?? BEGINNINGS[name] ?? UNKNOWN
      const from = Number(expandText(operation.offset, at))
      const length = operation.length === undefined ? undefined : Number(expandText(operation.length, at))
      if (source.includes(UNKNOWN) || !Number.isInteger(from) || from < 0) return UNKNOWN
      return source.slice(from, length === undefined || length < 0 ? undefined : from + length)
    }
    case 'Replace': {
      const pattern = expandText(operation.pattern, at)
      if (value.includes(UNKNOWN) || pattern === '' || /[*?[\\]/.test(pattern)) return value
      const replacement = expandText(operation.replacement, at)
      return operation.operator === '//'
        ? value.replaceAll(pattern, () => replacement)
        : value.replace(pattern, () => replacement)
    }
    case 'CaseModification':
      return operation.operator.startsWith(',') ? value.toLowerCase() : value.toUpperCase()
    default:
      forEachChild(part, at.visit)
      // What is cut off from either end is not followed; what is left may be the whole.
      return known(value) === '' ? UNKNOWN : value
  }
}

/** The texts that a word with `{a,b}` stands for; null for a word without. */
function braced(word: Word, shell: Knowledge): string[] | null {
  const parts = word.parts ?? []
  if (!parts.some(({ type, text }) => type === 'BraceExpansion' && text.includes(','))) return null
  let texts = ['']
  for (const part of parts) {
    const options = part.type === 'BraceExpansion' ? alternatives(part.text) : [part.text]
    texts = texts.flatMap((text) => options.map((option) => text + option)).slice(0, MAX_FIELDS)
    shell.step((texts.length * (texts[0]?.length ?? 0)) / 100)
  }
  return texts
}

/** What stands between the commas of the outermost braces. */
function alternatives(text: string): string[] {
  const options: string[] = []
  let depth = 0
  let from = 1
  for (let at = 1; at < text.length - 1; at++) {
    const character = text[at]
    if (character === '\\') at++
    else if (character === '{') depth++
    else if (character === '}') depth--
    else if (character === ',' && depth === 0) {
      options.push(text.slice(from, at))
      from = at + 1
    }
  }
  return options.length === 0 ? [text] : [...options, text.slice(from, -1)]
}

function wordsOf(text: string): Word[] {
  const command = parse(`: ${text}`).commands[0]?.command
  if (command?.type !== 'Command') return []
  return command.suffix.filter((each): each is Word => each.type === 'Word')
}
