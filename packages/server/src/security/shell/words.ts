/** Expands a word of a shell command: removes quotes and resolves expansions as far as the text determines them. */
import {
  forEachChild,
  parse,
  type ParameterExpansionPart,
  type ParsedScript,
  type SyntaxNode,
  type Word,
  type WordPart,
} from 'unbash'
import { type ShellState, known, UNKNOWN } from './shell-state.ts'

/** Returns the output of a script, as far as it is known. */
type Substitute = (script: ParsedScript | undefined) => string
/** Returns the path of a process substitution. */
type ProcessFile = (script: ParsedScript | undefined, operator: '<' | '>') => string

export type ExpansionContext = {
  state: ShellState
  substitute: Substitute
  processFile: ProcessFile
  /** Reads the commands inside a part whose value is not tracked. */
  visit: (node: SyntaxNode) => void
}

const MAX_FIELDS = 256
/** Prefixes of well-known variables, for slices that cut a slash out of one. */
const VALUE_PREFIXES: Record<string, string> = {
  HOME: '/h',
  PWD: '/w',
  OLDPWD: '/w',
  PATH: '/usr/bin',
  SHELL: '/bin/sh',
}

/** The fields of a word: none for an unquoted empty value, several when it is split or has braces. */
export function expand(word: Word, context: ExpansionContext): string[] {
  context.state.step()
  const texts = braceTexts(word, context.state)
  if (texts === null) return fieldsOf(word, context)
  return texts.flatMap((text) => wordsOf(text).flatMap((each) => fieldsOf(each, context))).slice(0, MAX_FIELDS)
}

/** The word as one text without field splitting, as in an assignment. */
export function expandText(word: Word | undefined, context: ExpansionContext): string {
  if (word === undefined) return ''
  context.state.step()
  const fields = new Fields(context.state.variables.get('IFS'))
  for (const part of word.parts ?? []) addPart(part, fields, context, true)
  return word.parts === undefined ? word.value : fields.all().join(' ')
}

/** Text that contains expansions, such as a here-document. */
export function expandParts(parts: readonly WordPart[], context: ExpansionContext): string {
  const fields = new Fields(context.state.variables.get('IFS'))
  for (const part of parts) addPart(part, fields, context, true)
  return fields.all().join(' ')
}

function fieldsOf(word: Word, context: ExpansionContext): string[] {
  if (word.parts === undefined) return [word.value]
  const fields = new Fields(context.state.variables.get('IFS'))
  for (const part of word.parts) addPart(part, fields, context, false)
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

  /** Adds an expansion outside quotes, whose white space separates fields. */
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

function addPart(part: WordPart, fields: Fields, context: ExpansionContext, isQuoted: boolean): void {
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
      for (const child of part.parts) addPart(child, fields, context, true)
      return
    case 'SimpleExpansion':
      // `$@` remains several words even inside quotes.
      if (part.text === '$@') return fields.split(context.state.variable('@'))
      return put(context.state.variable(part.text.slice(1)))
    case 'ParameterExpansion':
      if (part.prefix === undefined && /^[@*]$/.test(part.index?.text ?? ''))
        return fields.split(context.state.variable(part.parameter))
      return put(parameter(part, context))
    case 'CommandExpansion':
      return put(context.substitute(part.script).replace(/\n+$/, ''))
    case 'ProcessSubstitution':
      return fields.add(context.processFile(part.script, part.operator))
    case 'ArithmeticExpansion':
      forEachChild(part, context.visit)
      return fields.add(UNKNOWN)
    default:
      part satisfies never
  }
}

function parameter(part: ParameterExpansionPart, context: ExpansionContext): string {
  const { parameter: name, operation } = part
  if (part.prefix !== undefined || part.index !== undefined) {
    forEachChild(part, context.visit)
    return UNKNOWN
  }
  const value = context.state.variable(name)
  switch (operation?.type) {
    case undefined:
      return value
    case 'Default': {
      const isSet = value !== '' && value !== UNKNOWN
      if (operation.operator.includes('+')) return value === '' ? '' : expandText(operation.operand, context)
      if (operation.operator.includes('?') || isSet) return value
      return expandText(operation.operand, context)
    }
    case 'Slice': {
      const source = context.state.variables.get(name) ?? VALUE_PREFIXES[name] ?? UNKNOWN
      const from = Number(expandText(operation.offset, context))
      const length = operation.length === undefined ? undefined : Number(expandText(operation.length, context))
      if (source.includes(UNKNOWN) || !Number.isInteger(from) || from < 0) return UNKNOWN
      return source.slice(from, length === undefined || length < 0 ? undefined : from + length)
    }
    case 'Replace': {
      const pattern = expandText(operation.pattern, context)
      if (value.includes(UNKNOWN) || pattern === '' || /[*?[\\]/.test(pattern)) return value
      const replacement = expandText(operation.replacement, context)
      return operation.operator === '//'
        ? value.replaceAll(pattern, () => replacement)
        : value.replace(pattern, () => replacement)
    }
    case 'CaseModification':
      return operation.operator.startsWith(',') ? value.toLowerCase() : value.toUpperCase()
    default:
      forEachChild(part, context.visit)
      // Prefix and suffix removal is not tracked; the result may be the whole value.
      return known(value) === '' ? UNKNOWN : value
  }
}

/** The texts that a word with `{a,b}` expands to; null without braces. */
function braceTexts(word: Word, shell: ShellState): string[] | null {
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

/** The alternatives between the commas of the outermost braces. */
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
