/** Parses a patch in the format that models write. Pure. Source: agent-core.md 8.9. */
import { Refusal } from '../refusal.ts'

type HunkLine = { op: ' ' | '-' | '+'; text: string }

export type Hunk = {
  /** Lines that must occur earlier in the file, in this order. */
  anchors: readonly string[]
  lines: readonly HunkLine[]
  /** The last line of the hunk is the last line of the file. */
  isAtEnd: boolean
  /** Line of the file, counted from 1, near which the hunk is when its lines occur more than once; absent: the first one. */
  nearLine?: number
}

export type Section =
  | { kind: 'add'; path: string; lines: readonly string[] }
  | { kind: 'delete'; path: string }
  | { kind: 'update'; path: string; moveTo: string | null; hunks: readonly Hunk[] }

const BEGIN = '*** Begin Patch'
const END = '*** End Patch'
const AT_END = '*** End of File'
const HEADER = /^\*\*\* (Add|Delete|Update) File: *(.*?) *$/
const MOVE = /^\*\*\* Move to: *(.*?) *$/

/** Numbers of a unified diff: `-3,7 +3,8 @@ text`. Git cuts the text, so that it is no line of the file. */
const DIFF_POSITION = /^-(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/
const DIFF_NAMES = [/^--- /, /^\+\+\+ /] as const

/**
 * Returns the sections of a patch, in order. Text around the envelope, such as a code fence or a here-document, is ignored, and several
 * envelopes count as one.
 * @throws Refusal for a malformed patch, with the line.
 */
export function parsePatch(patch: string): Section[] {
  const lines = patch.replaceAll('\r\n', '\n').split('\n')
  const begin = lines.findIndex((line) => line.trim() === BEGIN)
  const end = lines.findLastIndex((line) => line.trim() === END)
  if (begin === -1) throw malformed(`it must begin with the line "${BEGIN}"`)
  if (end < begin) throw malformed(`it must end with the line "${END}"`)
  const reader = new Reader(lines.slice(begin, end).map((line) => (line.trimEnd() === END ? '' : line)))
  const sections: Section[] = []
  while (!reader.isDone) {
    if (reader.isEnvelope) reader.next()
    else sections.push(section(reader))
  }
  if (sections.length === 0) throw malformed('it changes no file')
  return sections
}

/** Reads lines in order, counted from 1; the first one is already read. */
class Reader {
  readonly #lines: readonly string[]
  #at = 1

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  get isDone(): boolean {
    return this.#at >= this.#lines.length
  }

  get number(): number {
    return this.#at + 1
  }

  /** True at the beginning of another envelope, or at an empty line before a section. */
  get isEnvelope(): boolean {
    const line = this.#lines[this.#at]?.trimEnd()
    return line === BEGIN || line === ''
  }

  /** True when the section has only empty lines left. */
  get isBlankToEnd(): boolean {
    let at = this.#at
    while (this.#lines[at]?.trim() === '') at++
    const next = this.#lines[at]
    return next === undefined || isOutside(next)
  }

  /** Returns the next line if it belongs to the section; undefined at a header or at the end. */
  peek(): string | undefined {
    const line = this.#lines[this.#at]
    return line === undefined || isOutside(line) ? undefined : line
  }

  /** True when `@@` follows, directly or after one more line. */
  get isBeforeHunk(): boolean {
    return [1, 2].some((ahead) => this.#lines[this.#at + ahead]?.startsWith('@@') === true)
  }

  next(): string {
    return this.#lines[this.#at++] ?? ''
  }
}

const isOutside = (line: string): boolean => HEADER.test(line) || line.trimEnd() === BEGIN

function section(reader: Reader): Section {
  const number = reader.number
  const line = reader.next()
  const [, kind, path = ''] = HEADER.exec(line) ?? []
  if (kind === undefined)
    throw malformed(`line ${number} is no "*** Add File:", "*** Delete File:" or "*** Update File:"`)
  if (path === '') throw malformed(`line ${number} names no file`)
  if (kind === 'Delete') return { kind: 'delete', path }
  return kind === 'Add' ? addition(path, reader) : update(path, reader)
}

function addition(path: string, reader: Reader): Section {
  const lines: string[] = []
  for (let line = reader.peek(); line !== undefined; line = reader.peek()) {
    if (line === '' && reader.isBlankToEnd) {
      reader.next()
      continue
    }
    if (!line.startsWith('+')) throw malformed(`line ${reader.number}: each line of an added file begins with "+"`)
    lines.push(reader.next().slice(1))
  }
  return { kind: 'add', path, lines }
}

function update(path: string, reader: Reader): Section {
  const [, moveTo] = MOVE.exec(reader.peek() ?? '') ?? []
  if (moveTo !== undefined) reader.next()
  if (moveTo === '') throw malformed(`the move of ${path} names no file`)
  // The names of a unified diff; the header of the section has the name already.
  for (const name of DIFF_NAMES) if (name.test(reader.peek() ?? '') && reader.isBeforeHunk) reader.next()
  const hunks: Hunk[] = []
  while (reader.peek() !== undefined) hunks.push(hunk(reader))
  if (hunks.length === 0 && moveTo === undefined) throw malformed(`the update of ${path} changes nothing`)
  return { kind: 'update', path, moveTo: moveTo ?? null, hunks }
}

function hunk(reader: Reader): Hunk {
  const number = reader.number
  const anchors: string[] = []
  let near: { nearLine?: number } = {}
  for (let line = reader.peek(); line?.startsWith('@@') === true; line = reader.peek()) {
    const anchor = reader.next().slice(2).replace(/^ /, '')
    const position = DIFF_POSITION.exec(anchor)?.[1]
    if (position !== undefined) near = { nearLine: Number(position) }
    else if (anchor.trim() !== '' && anchor.trim() !== '@@') anchors.push(anchor.replace(/ @@$/, ''))
  }
  const lines: HunkLine[] = []
  for (let line = reader.peek(); line !== undefined && !line.startsWith('@@'); line = reader.peek()) {
    if (line.trimEnd() === AT_END) {
      reader.next()
      return expectLines({ anchors, lines, isAtEnd: true, ...near }, number)
    }
    lines.push(hunkLine(line, reader.number))
    reader.next()
  }
  // Empty lines before the next section only separate it.
  while (lines.at(-1)?.op === ' ' && lines.at(-1)?.text === '') lines.pop()
  return expectLines({ anchors, lines, isAtEnd: false, ...near }, number)
}

function hunkLine(line: string, number: number): HunkLine {
  // An empty context line often lost its one space.
  if (line === '') return { op: ' ', text: '' }
  const op = line[0]
  if (op === ' ' || op === '-' || op === '+') return { op, text: line.slice(1) }
  throw malformed(`line ${number} begins with neither a space, "-", "+" nor "@@"`)
}

function expectLines(found: Hunk, number: number): Hunk {
  if (found.lines.length === 0) throw malformed(`line ${number} begins a part without lines`)
  return found
}

const malformed = (reason: string): Refusal => new Refusal(`Malformed patch: ${reason}. Nothing was changed.`)
