/** State of a shell while its text is read without running it. */
import { posix } from 'node:path'

// Marker characters for unknown text. Normalised text does not contain them, so they cannot be forged.
/** Any text, including none. */
export const UNKNOWN = '\u0000'
/** Text from the network. */
export const FETCHED = '\u0001'
/** Output of a decoder with unknown input. */
export const DECODED = '\u0002'

/** Maximum length of a stored value, in characters. */
const MAX_VALUE_CHARS = 30_000
/** Maximum work for one text, in steps of about a microsecond. */
const MAX_STEPS = 12_000

const MAX_PATH_CHARS = 8192

/** The text exceeds a limit of the reader, so its effect is unknown. */
export class ReadingLimitExceeded extends Error {}

export class ShellState {
  readonly variables = new Map<string, string>()
  readonly aliases = new Map<string, string>()
  /** Contents of files that the text itself writes, by path. */
  readonly files = new Map<string, string>()
  /** Current folder: absolute or home-relative where known, else relative to the initial folder. */
  cwd = '.'
  /** Depth of function bodies; inside one, the positional parameters are unknown. */
  functionDepth = 0
  #steps = 0

  /** Counts work. @throws ReadingLimitExceeded */
  step(count = 1): void {
    this.#steps += count
    if (this.#steps > MAX_STEPS) throw new ReadingLimitExceeded('the text asks for too much work')
  }

  /** The value of a variable; UNKNOWN for one that the text does not set. */
  variable(name: string): string {
    const withoutMarkers = this.variables.get(name)
    if (withoutMarkers !== undefined) return withoutMarkers
    if (/^(?:[1-9@*]|IFS)$/.test(name)) return name === 'IFS' ? ' ' : this.functionDepth > 0 ? UNKNOWN : ''
    if (name === 'HOME') return '~'
    if (name === 'PWD') return this.cwd
    if (name === '0' || name === 'SHELL' || name === 'BASH') return '/bin/bash'
    return UNKNOWN
  }

  set(name: string, value: string): void {
    this.step(1 + value.length / 1000)
    this.variables.set(name, value.slice(0, MAX_VALUE_CHARS))
  }

  write(path: string, content: string): void {
    this.step(1 + content.length / 1000)
    this.files.set(this.resolve(path), content.slice(0, MAX_VALUE_CHARS))
  }

  /** The content that the text has written to a file; null for other files. */
  read(path: string): string | null {
    return this.files.size === 0 ? null : (this.files.get(this.resolve(path)) ?? null)
  }

  /** Resolves a path against the current folder. Home stays `~`. */
  resolve(path: string): string {
    if (this.cwd.length + path.length > MAX_PATH_CHARS) throw new ReadingLimitExceeded('the path is too long')
    this.step(1 + (this.cwd.length + path.length) / 20)
    return isAbsolute(path) ? posix.normalize(path) : posix.join(this.cwd, path)
  }
}

const isAbsolute = (path: string): boolean => path.startsWith('/') || path.startsWith('~')

/** The text without marker characters. */
export function known(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0002]/g, '')
}

/** The marker for output that depends on `text`: FETCHED, else DECODED, else UNKNOWN. */
export function taintOf(text: string): string {
  if (text.includes(FETCHED)) return FETCHED
  return text.includes(DECODED) ? DECODED : UNKNOWN
}
