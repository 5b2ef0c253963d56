/** Readers of configuration values: from text or JSON, with a refusal that names where the value came from. */
import { join, resolve } from 'node:path'
import { ConfigError } from './error.ts'
import { isEgressRule } from '../egress/index.ts'
import { isAddressOrNetwork, isHostEntry, type Network } from '../lib/index.ts'
import type { SyslogAddress } from '../observability/index.ts'

export const SECONDS = 1000

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

type Environment = Readonly<Record<string, string | undefined>>

/** A value, its origin for messages, and the folder that a relative path in it starts from. */
export type Given = { value: unknown; origin: string; base: string }

export type Reader<T> = {
  /** The accepted values in words, such as "whole number from 0 to 65535". */
  type: string
  /** Reads the value from numbered environment variables, such as `NAME_0`, `NAME_1`; none: an empty array. */
  numbered?: (env: Environment, name: string) => readonly unknown[]
  /** @throws ConfigError for an unusable value. */
  read(given: Given, home: string): T
}

/** `expected` ends the sentence "X must be …". Values of secrets are never passed in. */
function wrong({ value, origin }: Given, expected: string): ConfigError {
  return new ConfigError(`${origin} must be ${expected}, not ${JSON.stringify(value)}`)
}

function textOf({ value, origin }: Given): string {
  if (typeof value !== 'string' || value === '') throw new ConfigError(`${origin} must be a text that is not empty`)
  return value
}

export const text: Reader<string> = { type: 'text', read: textOf }

export const path: Reader<string> = {
  type: 'path',
  read: (given, home) => {
    const value = textOf(given)
    // Unit files and JSON have no shell that would expand the tilde.
    return value === '~' || value.startsWith('~/') ? join(home, value.slice(1)) : resolve(given.base, value)
  },
}

function numberOf({ value: given }: Given): number {
  const value = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  return typeof value === 'number' ? value : Number.NaN
}

export const integer = (min: number, max: number): Reader<number> => ({
  type: `whole number from ${min} to ${max}`,
  read: (given) => {
    const value = numberOf(given)
    if (!Number.isInteger(value) || value < min || value > max)
      throw wrong(given, `a whole number from ${min} to ${max}`)
    return value
  },
})

/** Seconds in the configuration, milliseconds in the program. */
export const seconds: Reader<number> = {
  type: 'seconds above 0',
  read: (given) => {
    const value = numberOf(given)
    if (!(value > 0) || value > 1e9) throw wrong(given, 'a number of seconds above 0')
    return value * SECONDS
  },
}

export const secondsFrom = (min: number, max: number): Reader<number> => ({
  type: `seconds from ${min} to ${max}`,
  read: (given) => {
    const value = numberOf(given)
    if (!(value >= min) || value > max) throw wrong(given, `a number of seconds from ${min} to ${max}`)
    return value * SECONDS
  },
})

export const secondsOrNever: Reader<number | null> = {
  type: 'seconds above 0, or `never`',
  read: (given, home) =>
    given.value === null || given.value === 'null' || given.value === 'never' ? null : seconds.read(given, home),
}

const YES = ['true', '1', 'yes', 'on']
const NO = ['false', '0', 'no', 'off']

export const bool: Reader<boolean> = {
  type: '`true` or `false`',
  read: (given) => {
    const word = String(given.value).toLowerCase()
    if (YES.includes(word)) return true
    if (NO.includes(word)) return false
    throw wrong(given, 'true or false')
  },
}

/** @param rule the accepted values, as the end of the sentence "X must be …" */
export const checked = <T>(type: string, parse: (value: unknown) => T | null, rule: string): Reader<T> => ({
  type,
  read: (given) => {
    const value = parse(given.value)
    if (value === null) throw wrong(given, rule)
    return value
  },
})

export const httpUrl: Reader<string> = {
  type: 'HTTP address',
  read: (given) => {
    const value = textOf(given)
    if (!/^https?:\/\/./.test(value) || !URL.canParse(value))
      throw wrong(given, 'an address such as http://127.0.0.1:11434')
    return value
  },
}

/** The value may contain a password, so the message does not repeat it. */
export const databaseUrl: Reader<string> = {
  type: 'PostgreSQL address',
  read: (given) => {
    const value = textOf(given)
    if (!/^postgres(?:ql)?:\/\/./.test(value) || !URL.canParse(value))
      throw new ConfigError(
        `${given.origin} must be an address such as postgres://user:password@host:5432/name; special characters of the password are percent-encoded`,
      )
    return value
  },
}

/** Default port of syslog over UDP and TCP. */
const SYSLOG_PORT = 514

export const syslogAddress: Reader<SyslogAddress> = {
  type: '`udp://host:port` or `tcp://host:port`',
  read: (given) => {
    const url = URL.parse(textOf(given))
    const protocol = url?.protocol.slice(0, -1)
    const isPlain = url !== null && url.username === '' && /^\/?$/.test(url.pathname) && url.search === ''
    if (!isPlain || url.hostname === '' || (protocol !== 'udp' && protocol !== 'tcp'))
      throw wrong(given, 'an address such as udp://127.0.0.1:514 or tcp://logs.example.org:601')
    const port = url.port === '' ? SYSLOG_PORT : Number(url.port)
    return { protocol, host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port }
  },
}

const codes = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(', ')

export const logLevel: Reader<LogLevel> = {
  type: codes(LOG_LEVELS),
  read: (given) => {
    const level = LOG_LEVELS.find((name) => name === String(given.value).toLowerCase())
    if (level === undefined) throw wrong(given, `one of ${LOG_LEVELS.join(', ')}`)
    return level
  },
}

const MODES = ['personal', 'shared'] as const
/** How many users a server has. Source: docs/security.md, Modes. */
export type Mode = (typeof MODES)[number]

export const mode: Reader<Mode> = {
  type: codes(MODES),
  read: (given) => {
    const found = MODES.find((name) => name === String(given.value).toLowerCase())
    if (found === undefined) throw wrong(given, `one of ${MODES.join(', ')}`)
    return found
  },
}

const SANDBOX_MODES = ['auto', 'required', 'off'] as const

/** In a file, `false` means `off`. */
export const sandboxMode: Reader<(typeof SANDBOX_MODES)[number]> = {
  type: codes(SANDBOX_MODES),
  read: (given) => {
    const word = String(given.value).toLowerCase()
    const mode = word === 'false' ? 'off' : SANDBOX_MODES.find((name) => name === word)
    if (mode === undefined) throw wrong(given, `one of ${SANDBOX_MODES.join(', ')}`)
    return mode
  },
}

/** True, false, or the hosts that may be reached. */
export const network: Reader<Network> = {
  type: '`true`, `false` or a list of hosts',
  read: (given, home) => {
    if ([...YES, ...NO].includes(String(given.value).toLowerCase())) return bool.read(given, home)
    const hosts = listOf(given)
    const odd = hosts.find((host) => !isHostEntry(host))
    if (odd === undefined) return hosts
    throw new ConfigError(
      `${given.origin} must be true, false or hosts such as "example.com", "*.example.com" or "127.0.0.1:5000", and ${JSON.stringify(odd)} is none of them`,
    )
  },
}

/** Rules for requests that the server sends for its users. */
export const egressRules: Reader<readonly string[]> = {
  type: '`public`, `any`, hosts or networks',
  read: (given) => {
    const rules = listOf(given).map((rule) => rule.toLowerCase())
    const odd = rules.find((rule) => !isEgressRule(rule))
    if (odd === undefined) return rules
    throw new ConfigError(
      `${given.origin} must be public, any, hosts such as "example.com", "*.example.com" or "127.0.0.1:5000", or networks such as ` +
        `"10.0.0.0/8", and ${JSON.stringify(odd)} is none of them`,
    )
  },
}

/** A JSON list, or text with commas. */
export function listOf(given: Given): string[] {
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

/** `NAME_0`, `NAME_1`, … up to the first gap. Source: agent-server-wire.md 10.2. */
function numberedValues(env: Environment, name: string): string[] {
  const values: string[] = []
  for (let n = 0; ; n++) {
    const value = env[`${name}_${n}`]
    if (value === undefined || value === '') return values
    values.push(value)
  }
}

export const list: Reader<string[]> = { type: 'list', numbered: numberedValues, read: listOf }

/** Absolute paths; relative ones start where the value comes from. */
export const paths: Reader<string[]> = {
  ...list,
  type: 'list of paths',
  read: (given, home) => listOf(given).map((value) => path.read({ ...given, value }, home)),
}

/** Names of environment variables, each alone or as a prefix. */
export const variableNames: Reader<string[]> = {
  ...list,
  type: 'list of names, or of prefixes with `*`',
  read: (given) => {
    const values = listOf(given)
    const odd = values.find((value) => !/^[A-Za-z_]\w*\*?$/.test(value))
    if (odd === undefined) return values
    throw wrong({ ...given, value: odd }, 'names of variables such as DOCKER_HOST, or prefixes such as AWS_*')
  },
}

export const keys: Reader<string[]> = {
  ...list,
  read: (given) => {
    const values = listOf(given)
    // A key travels as a header value, so only visible ASCII can match.
    if (values.some((key) => !/^[\x21-\x7e]+$/.test(key))) {
      throw new ConfigError(
        `${given.origin} holds a key with spaces or characters outside ASCII; such a key cannot be sent in a header`,
      )
    }
    return [...new Set(values)]
  },
}

/** Addresses, and networks as an address and a number of bits. */
export const networks: Reader<string[]> = {
  ...list,
  type: 'list of addresses and networks',
  read: (given) => {
    const values = listOf(given)
    const odd = values.find((value) => !isAddressOrNetwork(value))
    if (odd === undefined) return values
    throw wrong({ ...given, value: odd }, 'addresses such as 127.0.0.1, or networks such as 10.0.0.0/8')
  },
}

export const webOrigins: Reader<string[]> = {
  ...list,
  type: 'list of origins',
  read: (given) => {
    const values = listOf(given)
    for (const value of values) {
      if (value !== '*' && !/^https?:\/\/[^/]+$/.test(value)) {
        throw wrong({ ...given, value }, 'origins such as https://example.org (scheme and host, no path), or *')
      }
    }
    return values
  },
}
