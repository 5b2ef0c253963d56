/** What is known of a shell while its text is read, without running any of it. */
import { posix } from 'node:path'

// Characters that stand for text nobody can know from here. Normalised text holds none of them, so they can't be forged.
/** Could be anything, also nothing. */
export const UNKNOWN = '\u0000'
/** Came from the network. */
export const FETCHED = '\u0001'
/** Came out of a decoder whose input is not known. */
export const DECODED = '\u0002'

/** Longest text that is followed, in characters. */
const MAX_VALUE_CHARS = 30_000
/** Commands, words and characters that are looked at before the reader gives up, in steps of about a microsecond. */
const MAX_STEPS = 12_000

const MAX_PATH_CHARS = 8192

/** The text asks for more work than anybody wants to do for it: nobody can say what it does. */
export class TooMuch extends Error {}

export class Knowledge {
  readonly variables = new Map<string, string>()
  readonly aliases = new Map<string, string>()
  /** Contents of files that the text itself makes, by path. */
  readonly files = new Map<string, string>()
  /** A path that starts with a slash or `~` where it is known, else one relative to where the text began. */
  cwd = '.'
  /** More than 0 inside the body of a function, where the positional parameters are not known. */
  functionDepth = 0
  #steps = 0

  /** @throws TooMuch */
  step(count = 1): void {
    this.#steps += count
    if (this.#steps > MAX_STEPS) throw new TooMuch('the text asks for too much work')
  }

  /** A value of a variable; UNKNOWN for one that the text does not set. */
  variable(name: string): string {
    const known = this.variables.get(name)
    if (known !== undefined) return known
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

  /** What the text has put into a file; null for files it has not made. */
  read(path: string): string | null {
    return this.files.size === 0 ? null : (this.files.get(this.resolve(path)) ?? null)
  }

  /** A path from where the shell is now. Home stays `~`. */
  resolve(path: string): string {
    if (this.cwd.length + path.length > MAX_PATH_CHARS) throw new TooMuch('the path is too long')
    this.step(1 + (this.cwd.length + path.length) / 20)
    return isAnchored(path) ? posix.normalize(path) : posix.join(this.cwd, path)
  }
}

const isAnchored = (path: string): boolean => path.startsWith('/') || path.startsWith('~')

/** Without the characters that stand for what is not known. */
export function known(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0002]/g, '')
}

/** The strongest thing that can be said about what depends on `text`. */
export function taintOf(text: string): string {
  if (text.includes(FETCHED)) return FETCHED
  return text.includes(DECODED) ? DECODED : UNKNOWN
}
