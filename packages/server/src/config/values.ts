/** How one value of the configuration is read: from text or JSON, refused with a message that names where it came from. */
import { join, resolve } from 'node:path'
import { ConfigError } from './error.ts'
import { isHostEntry, type Network } from '../lib/index.ts'

export const SECONDS = 1000

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** What was given, where, and what a relative path in it starts from. */
export type Given = { value: unknown; origin: string; base: string }
/** @throws ConfigError for a value that cannot be used. */
export type Read<T> = (given: Given, home: string) => T

/** `expected` ends the sentence "X must be …". Values of secrets never get here. */
function wrong({ value, origin }: Given, expected: string): ConfigError {
  return new ConfigError(`${origin} must be ${expected}, not ${JSON.stringify(value)}`)
}

export function text(given: Given): string {
  if (typeof given.value !== 'string' || given.value === '')
    throw new ConfigError(`${given.origin} must be a text that is not empty`)
  return given.value
}

export function path(given: Given, home: string): string {
  const value = text(given)
  // Unit files and JSON know no shell that would expand the tilde.
  return value === '~' || value.startsWith('~/') ? join(home, value.slice(1)) : resolve(given.base, value)
}

function number(given: Given): number {
  const value = typeof given.value === 'string' && given.value.trim() !== '' ? Number(given.value) : given.value
  return typeof value === 'number' ? value : Number.NaN
}

export const integer =
  (min: number, max: number): Read<number> =>
  (given) => {
    const value = number(given)
    if (!Number.isInteger(value) || value < min || value > max)
      throw wrong(given, `a whole number from ${min} to ${max}`)
    return value
  }

export const seconds: Read<number> = (given) => {
  const value = number(given)
  if (!(value > 0) || value > 1e9) throw wrong(given, 'a number of seconds above 0')
  return value * SECONDS
}

export const secondsOrNever: Read<number | null> = (given, home) =>
  given.value === null || given.value === 'null' || given.value === 'never' ? null : seconds(given, home)

const YES = ['true', '1', 'yes', 'on']
const NO = ['false', '0', 'no', 'off']

export const bool: Read<boolean> = (given) => {
  const word = String(given.value).toLowerCase()
  if (YES.includes(word)) return true
  if (NO.includes(word)) return false
  throw wrong(given, 'true or false')
}

export const checked =
  <T>(read: (value: unknown) => T | null, rule: string): Read<T> =>
  (given) => {
    const value = read(given.value)
    if (value === null) throw wrong(given, rule)
    return value
  }

export const httpUrl: Read<string> = (given) => {
  const value = text(given)
  if (!/^https?:\/\/./.test(value) || !URL.canParse(value))
    throw wrong(given, 'an address such as http://127.0.0.1:11434')
  return value
}

export const logLevel: Read<LogLevel> = (given) => {
  const level = LOG_LEVELS.find((name) => name === String(given.value).toLowerCase())
  if (level === undefined) throw wrong(given, `one of ${LOG_LEVELS.join(', ')}`)
  return level
}

const SANDBOX_MODES = ['auto', 'required', 'off'] as const

/** A file may say `false` for off. */
export const sandboxMode: Read<(typeof SANDBOX_MODES)[number]> = (given) => {
  const said = String(given.value).toLowerCase()
  const mode = said === 'false' ? 'off' : SANDBOX_MODES.find((name) => name === said)
  if (mode === undefined) throw wrong(given, `one of ${SANDBOX_MODES.join(', ')}`)
  return mode
}

/** True, false, or the hosts that may be reached. */
export const network: Read<Network> = (given, home) => {
  if ([...YES, ...NO].includes(String(given.value).toLowerCase())) return bool(given, home)
  const hosts = list(given)
  const odd = hosts.find((host) => !isHostEntry(host))
  if (odd === undefined) return hosts
  throw new ConfigError(
    `${given.origin} must be true, false or hosts such as "example.com", "*.example.com" or "127.0.0.1:5000", and ${JSON.stringify(odd)} is none of them`,
  )
}

/** A JSON list, or text with commas. */
export function list(given: Given): string[] {
  const { value, origin } = given
  const items = typeof value === 'string' && value.trimStart().startsWith('[') ? parseList(value, origin) : value
  const split = typeof items === 'string' ? items.split(',').map((item) => item.trim()) : items
  if (!Array.isArray(split) || split.some((item) => typeof item !== 'string')) {
    throw new ConfigError(`${origin} must be a list of texts, or one text with commas between`)
  }
  return (split as string[]).filter((item) => item !== '')
}

function parseList(value: string, origin: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    // The parser's own message would quote the value, which may be a secret.
    throw new ConfigError(`${origin} begins like a JSON list but is none; write ["a","b"] or a,b`)
  }
}

export const keys: Read<string[]> = (given) => {
  const values = list(given)
  // A key travels as a header value, so nothing outside visible ASCII would ever match.
  if (values.some((key) => !/^[\x21-\x7e]+$/.test(key))) {
    throw new ConfigError(
      `${given.origin} holds a key with spaces or characters outside ASCII; such a key cannot be sent in a header`,
    )
  }
  return [...new Set(values)]
}

export const webOrigins: Read<string[]> = (given) => {
  const values = list(given)
  for (const value of values) {
    if (value !== '*' && !/^https?:\/\/[^/]+$/.test(value)) {
      throw wrong({ ...given, value }, 'origins such as https://example.org (scheme and host, no path), or *')
    }
  }
  return values
}
