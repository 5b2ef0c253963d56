/**
 * Values that are kept elsewhere and asked for when a command names them. Source: agent-server-wire.md 8.3; agent-core.md 7.1.
 * The address is a caller's and the request is ours, so only hosts that the operator named are asked, and this server itself.
 */
import { isIP } from 'node:net'
import { MAX_SECRET_BYTES, ParleyError, type LookupSecret } from '@parley/protocol'

const TIMEOUT_MS = 30_000
/** How long an answer, or the lack of one, is taken for true. */
const TTL_MS = 60_000
/** Shortest time between two requests for one value, however many commands fail with it. */
const MIN_REFRESH_MS = 5_000

export type LookupDeps = {
  /** `host` or `host:port`, as the operator wrote them. */
  hosts: readonly string[]
  /** Where this server listens; null before it does. */
  ownUrl: () => string | null
  /** Milliseconds of a clock that only grows. */
  clock?: () => number
  log: { warn(fields: object, message: string): void }
}

export interface Lookups {
  /** The source with its whole address. @throws ParleyError `invalid_input` for one that is not asked. */
  accept(name: string, source: LookupSecret): LookupSecret
  /** The value; null when it cannot be had now. Never rejects. */
  value(name: string, source: LookupSecret): Promise<string | null>
  /** The value may be old: the next command that names it has it looked up again. */
  refresh(source: LookupSecret): void
  /** Every value that this source has had since the server started. */
  seen(source: LookupSecret): readonly string[]
}

type Answer = { value: Promise<string | null>; at: number; until: number }

export function openLookups({ hosts, ownUrl, clock = () => performance.now(), log }: LookupDeps): Lookups {
  const answers = new Map<string, Answer>()
  const values = new Map<string, Set<string>>()
  const keyOf = ({ url, headers }: LookupSecret) => JSON.stringify([url, headers])

  function allowed(address: string): URL | null {
    const own = ownUrl()
    if (!URL.canParse(address, own ?? undefined)) return null
    const url = new URL(address, own ?? undefined)
    if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
      return null
    const isNamed = hosts.some((host) => host.toLowerCase() === url.host || host.toLowerCase() === url.hostname)
    return isNamed || (own !== null && isOwn(url, new URL(own))) ? url : null
  }

  async function fetched(name: string, source: LookupSecret): Promise<string | null> {
    try {
      const url = allowed(source.url)
      if (url === null) throw new Error('its host is not allowed any more')
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      // A redirect could lead anywhere, with the headers that were meant for here.
      const response = await fetch(url, { headers: source.headers, redirect: 'error', signal })
      if (!response.ok) throw new Error(`the answer is ${response.status}`)
      const value = await textOf(response)
      const known = values.get(keyOf(source)) ?? new Set()
      values.set(keyOf(source), known.add(value))
      return value
    } catch (error) {
      log.warn({ secret: name, err: error }, 'a secret could not be looked up and is left out')
      return null
    }
  }

  return {
    accept(name, source) {
      const url = allowed(source.url)
      if (url !== null) return { ...source, url: url.href }
      throw new ParleyError(
        'invalid_input',
        `The secret ${name} is to be looked up at a host that this server does not ask. Name the host in secret_lookup_hosts, or send the value.`,
        { details: { secret: name } },
      )
    },

    value(name, source) {
      const key = keyOf(source)
      const known = answers.get(key)
      if (known !== undefined && known.until > clock()) return known.value
      const value = fetched(name, source)
      answers.set(key, { value, at: clock(), until: clock() + TTL_MS })
      return value
    },

    refresh(source) {
      const known = answers.get(keyOf(source))
      if (known !== undefined) known.until = Math.min(known.until, known.at + MIN_REFRESH_MS)
    },

    seen: (source) => [...(values.get(keyOf(source)) ?? [])],
  }
}

/** This server under any name that this machine has for itself. */
function isOwn(url: URL, own: URL): boolean {
  if (url.port !== own.port || url.protocol !== own.protocol) return false
  return url.hostname === own.hostname || isThisMachine(url.hostname)
}

const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))

/** @throws when it is no text that a process can have in its environment. */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_SECRET_BYTES) throw new Error(`the answer is longer than ${MAX_SECRET_BYTES} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  if (text.includes('\0')) throw new Error('the answer holds the character NUL')
  return text
}
