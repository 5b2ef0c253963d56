/** Masks known secret values in texts before they are stored or sent. Sources: agent-core.md 7.2, F19; agent-server-wire.md 8.4. */
import { HEAD_CHARS, openFormFinder } from './find-forms.ts'
import { isObject, setMember } from './json.ts'
import { openMaskStream, type MaskStream } from './mask-stream.ts'
import { masked } from './mask-text.ts'

/** Shorter values occur by chance; masking them would destroy ordinary text. */
const MIN_CHARS = HEAD_CHARS

/** Values that are common words of ordinary output, and placeholders for keys; they are never masked. */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  (
    'true false null none undefined test user root admin default main master localhost 1234 0000 ' +
    'ollama local empty dummy token secret password placeholder not-needed no-key'
  ).split(' '),
)

export interface Masker {
  /** Length of the longest masked form, which a stream must hold back. 0 when there is nothing to mask. */
  readonly longest: number
  text(text: string): string
  /** Masks every text in a JSON value, except names of members. Returns the value itself when nothing was found. */
  json<T>(value: T): T
  /** A masker for one text that arrives in pieces. */
  stream(): MaskStream
}

/** True for a value that is long and rare enough to be masked. Creating another secret is worth a warning. */
export const isMaskable = (value: string): boolean =>
  value.length >= MIN_CHARS && !COMMON_WORDS.has(value.toLowerCase()) && value.trim() !== ''

/**
 * The forms in which a value can appear in output: plain, with the line ends of a file or of a terminal, escaped for JSON,
 * percent-encoded, in base64 and hex, also within a longer encoded text, and line by line.
 */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8')
  const lines = value.replaceAll('\r\n', '\n').trim()
  return [
    value,
    lines,
    lines.replaceAll('\n', '\r\n'),
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    ...encodedWithin(bytes),
    ...longLines(lines),
  ].filter(isMaskable)
}

/** Shorter parts of an encoding occur by chance. */
const MIN_ENCODED_CHARS = 8
/** Shorter lines of a value of several lines occur by chance. */
const MIN_LINE_CHARS = 16

/** The characters that a value has in an encoding of a longer text: hex, and base64 behind any number of other bytes. */
function encodedWithin(bytes: Buffer): string[] {
  const hex = bytes.toString('hex')
  const base64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    // Characters at both ends may contain bits of the bytes beside the value.
    const inner = text.slice(before === 0 ? 0 : before + 1, (before + bytes.length) % 3 === 0 ? undefined : -1)
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })
  return [hex, hex.toUpperCase(), ...base64].filter((form) => form.length >= MIN_ENCODED_CHARS)
}

/** The lines of a value that has several, such as a private key. Its first and last line are no secret. */
function longLines(value: string): string[] {
  if (!value.includes('\n')) return []
  const lines = value.split('\n').map((line) => line.trim())
  return lines.filter((line) => line.length >= MIN_LINE_CHARS && !/^-----(?:BEGIN|END) /.test(line))
}

/**
 * A masker for these values. Where several match at one position, the longest wins. Existing masks are kept, so masking twice
 * equals masking once.
 */
export function makeMasker(values: Iterable<string>): Masker {
  const forms = new Set<string>()
  for (const value of values) if (isMaskable(value)) for (const form of formsOf(value)) forms.add(form)
  if (forms.size === 0) {
    const stream = () => openMaskStream([], null)
    return { longest: 0, text: (text) => text, json: (value) => value, stream }
  }
  const finder = openFormFinder(forms)

  const maskText = (text: string): string => masked(text, finder)

  const maskJson = (value: unknown): unknown => {
    if (typeof value === 'string') return maskText(value)
    if (Array.isArray(value)) {
      const items = value.map(maskJson)
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    if (!isObject(value)) return value
    let changed: Record<string, unknown> | undefined
    for (const [name, member] of Object.entries(value)) {
      const masked = maskJson(member)
      if (masked === member) continue
      changed ??= { ...value }
      setMember(changed, name, masked)
    }
    return changed ?? value
  }

  return {
    longest: finder.longest,
    text: maskText,
    json: <T>(value: T) => maskJson(value) as T,
    stream: () => openMaskStream([...forms], finder),
  }
}

/** Masks one text; make a masker for more than one. */
export const mask = (text: string, values: Iterable<string>): string => makeMasker(values).text(text)
