/** Words and variables in lines for a shell. */
import { shellQuote } from '../../lib/index.ts'

/** One word, whatever is in it. @throws RangeError for NUL, which no word can have. */
export function quote(word: string): string {
  if (word.includes('\0')) throw new RangeError('a word of a command cannot hold the character NUL')
  return shellQuote(word)
}

/** Words of a command. */
export const shellLine = (words: readonly string[]): string => words.map(quote).join(' ')

const NAME = /^[A-Za-z_]\w*$/

/** Lines that export variables. Names that no shell takes are left out, as a shell itself would not pass them on. */
export const exports = (env: Readonly<Record<string, string>>): string =>
  Object.entries(env)
    .filter(([name]) => NAME.test(name))
    .map(([name, value]) => `export ${name}=${quote(value)}\n`)
    .join('')
