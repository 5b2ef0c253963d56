/** Output of harmless commands with known input, so that encoded and assembled commands can be read. Pure. */
import { DECODED, FETCHED, known, taintOf, UNKNOWN } from './shell-state.ts'

const MAX_OUTPUT_CHARS = 30_000
/** Programs that download. */
const FETCHERS = /^(?:curl|wget|wget2|fetch|aria2c|lwp-request|http|https|httpie|xh)$/
/** Programs that decode. */
const DECODERS = /^(?:base(?:32|64)|xxd|uudecode|openssl|gpg|uncompress)$/

export const isFetcher = (name: string): boolean => FETCHERS.test(name)

/** The output of a command, or a marker character. `input`: its standard input. */
export function outputOf(name: string, args: readonly string[], input: string, files: readonly string[]): string {
  const output = literalOutput(name, args, input, files)
  if (output !== null) return output.slice(0, MAX_OUTPUT_CHARS)
  if (isFetcher(name)) return FETCHED
  const taint = taintOf([input, ...args, ...files].join(''))
  if (taint === UNKNOWN && DECODERS.test(name) && isDecoding(name, args)) return DECODED
  return taint
}

const isDecoding = (name: string, args: readonly string[]): boolean =>
  args.some((arg) => /^(?:-[a-zA-Z]*[dDrp]|--decode|--decrypt)/.test(arg)) || name === 'uudecode'

function literalOutput(name: string, args: readonly string[], input: string, files: readonly string[]): string | null {
  const source = args.some((arg) => !arg.startsWith('-') && arg !== '') ? files.join('') : input
  switch (name) {
    case 'echo':
      return echo(args)
    case 'printf':
      return printf(args)
    case 'cat':
    case 'tee':
      return name === 'tee' ? input : source === '' ? null : source
    case 'base64':
      return isDecoding(name, args) && known(source) === source && source !== ''
        ? Buffer.from(source, 'base64').toString('utf8')
        : null
    case 'base32':
      return null
    case 'xxd':
      return args.some((arg) => /^-[a-z]*r/.test(arg)) && known(source) === source && source !== ''
        ? Buffer.from(source.replace(/\s/g, ''), 'hex').toString('utf8')
        : null
    case 'rev':
      return source === ''
        ? null
        : source
            .split('\n')
            .map((line) => [...line].reverse().join(''))
            .join('\n')
    case 'tr':
      return translate(args, input)
    default:
      return null
  }
}

function echo(args: readonly string[]): string {
  let at = 0
  let escapes = false
  for (; /^-[neE]+$/.test(args[at] ?? ''); at++) if (args[at]!.includes('e')) escapes = true
  const text = args.slice(at).join(' ')
  return `${escapes ? unescape(text) : text}\n`
}

function printf(args: readonly string[]): string {
  const [format = '', ...values] = args[0] === '--' ? args.slice(1) : args
  let next = 0
  const once = (): string =>
    unescape(format).replace(/%(?:[-+ #0]*\d*(?:\.\d+)?)([sbdicqxXu%])/g, (_all, letter: string) => {
      if (letter === '%') return '%'
      const value = values[next++] ?? ''
      return letter === 'b' ? unescape(value) : value
    })
  let text = once()
  // `printf` repeats the format until all values are used.
  for (let before = -1; next < values.length && next > before && text.length < MAX_OUTPUT_CHARS;) {
    before = next
    text += once()
  }
  return text
}

const NAMED: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '', b: '', f: '\n', v: '\n', e: '', '\\': '\\' }

function unescape(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|u([0-9a-fA-F]{1,4})|([ntrabfve\\]))/g,
    (_all, hex, octal, unicode, name) => {
      if (name !== undefined) return NAMED[name as string]!
      const code =
        octal === undefined ? Number.parseInt((hex ?? unicode) as string, 16) : Number.parseInt(octal as string, 8)
      // An escape must not produce a marker character.
      return code < 3 ? '' : String.fromCharCode(code)
    },
  )
}

/** `tr -d set` and `tr set set` with plain characters, and rotations of the alphabet. */
function translate(args: readonly string[], input: string): string | null {
  const isDeleting = args[0] === '-d'
  const from = ranges(args[isDeleting ? 1 : 0] ?? '')
  if (input === '' || from === null) return null
  if (isDeleting) return [...input].filter((character) => !from.includes(character)).join('')
  const to = ranges(args[1] ?? '')
  if (to === null || to.length === 0) return null
  return [...input]
    .map((character) => {
      const at = from.indexOf(character)
      return at === -1 ? character : (to[at] ?? to.at(-1)!)
    })
    .join('')
}

function ranges(set: string): string[] | null {
  if (set === '' || set.includes('[') || set.length > 64) return null
  return [
    ...unescape(set).replace(/(.)-(.)/gs, (_all, first: string, last: string) => {
      let text = ''
      for (let code = first.charCodeAt(0); code <= last.charCodeAt(0) && text.length < 256; code++)
        text += String.fromCharCode(code)
      return text
    }),
  ]
}
