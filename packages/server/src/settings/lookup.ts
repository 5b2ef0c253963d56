/**
 * Secret values that are looked up at an address when a command names them. Source: agent-server-wire.md 8.3; agent-core.md 7.1.
 * A caller chooses the address and this server sends the request, so only hosts of the operator's list and this server itself
 * are requested.
 */
import { isIP } from 'node:net'
import { operatorFetch } from '../egress/index.ts'
import { RecentMap, timeoutSignal } from '../lib/index.ts'
import { keepNewest } from '../secrets/index.ts'
import type { Log } from '../observability/index.ts'
import { invalidInput, type LookupSecret, MAX_SECRET_BYTES } from '@parley/protocol'

const TIMEOUT_MS = 30_000
/** Where a server answers with the stored secrets of a user. */
const STORED_SECRETS = '/api/settings/secrets/'
/** Milliseconds for which a value, or its absence, is cached. */
const TTL_MS = 60_000
/** Least milliseconds between two requests for one value, even when many commands fail with it. */
const MIN_REFRESH_MS = 5_000
/** Most bytes of all sources with their values. A source that is not kept is as before its first look-up. */
const MAX_BYTES = 16 * 1024 * 1024
/** Bytes of a source beside its texts. */
const SOURCE_BYTES = 512

export type LookupDeps = {
  /** `host` or `host:port`, in the operator's spelling. */
  hosts: readonly string[]
  /** Address of this server; null before it listens. */
  ownUrl: () => string | null
  /** Milliseconds of a monotonic clock. */
  clock?: (() => number) | undefined
  log: Pick<Log, 'warn'>
}

export interface Lookups {
  /** The source with its complete address. @throws ParleyError `invalid_input` for a host outside the allowed ones. */
  accept(name: string, source: LookupSecret): LookupSecret
  /** The value; null when it is not available. Never rejects. */
  value(name: string, source: LookupSecret): Promise<string | null>
  /** Marks the value as possibly outdated: the next command that names it triggers a new look-up. */
  refresh(source: LookupSecret): void
  /** The newest values of this source since the server started, if it is among the sources that were used last. */
  seen(source: LookupSecret): readonly string[]
}

/** `answer`: null before the first look-up. `values`: the newest ones. */
type Known = { answer: Answer | null; values: Set<string> }
type Answer = { value: Promise<string | null>; at: number; until: number }

export function openLookups({ hosts, ownUrl, clock = () => performance.now(), log }: LookupDeps): Lookups {
  const sources = new RecentMap<Known>(MAX_BYTES)
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

  /** A stored secret of a user, looked up at the address that this server had at its last start, or at another node: it has it too. */
  function ownInstead(address: string): URL | null {
    const own = ownUrl()
    const { pathname, search } = new URL(address)
    return own !== null && pathname.startsWith(STORED_SECRETS) ? new URL(pathname + search, own) : null
  }

  function keep(key: string, known: Known): void {
    let bytes = SOURCE_BYTES + key.length
    for (const { length } of known.values) bytes += length
    sources.set(key, known, bytes)
  }

  async function fetched(name: string, source: LookupSecret, known: Known): Promise<string | null> {
    try {
      const url = allowed(source.url) ?? ownInstead(source.url)
      if (url === null) throw new Error('its host is not allowed any more')
      const signal = timeoutSignal(TIMEOUT_MS)
      // A redirect could lead to any host, with the headers that are meant for this one.
      const response = await operatorFetch(url, { headers: source.headers, redirect: 'error', signal })
      if (!response.ok) throw new Error(`the answer is ${response.status}`)
      const value = await textOf(response)
      // Deleted first, so that a value that comes back is the newest one.
      known.values.delete(value)
      keepNewest(known.values.add(value))
      keep(keyOf(source), known)
      return value
    } catch (error) {
      log.warn({ secret: name, err: error }, 'secret not looked up, omitted')
      return null
    }
  }

  return {
    accept(name, source) {
      const url = allowed(source.url)
      if (url !== null) return { ...source, url: url.href }
      throw invalidInput(
        `The secret ${name} is to be looked up at a host that this server does not ask. Name the host in secret_lookup_hosts, or send the value.`,
      )
    },

    value(name, source) {
      const key = keyOf(source)
      const known = sources.get(key) ?? { answer: null, values: new Set() }
      if (known.answer !== null && known.answer.until > clock()) return known.answer.value
      const value = fetched(name, source, known)
      known.answer = { value, at: clock(), until: clock() + TTL_MS }
      keep(key, known)
      return value
    },

    refresh(source) {
      const answer = sources.get(keyOf(source))?.answer ?? null
      if (answer !== null) answer.until = Math.min(answer.until, answer.at + MIN_REFRESH_MS)
    },

    seen: (source) => [...(sources.get(keyOf(source))?.values ?? [])],
  }
}

/** True for this server under any local name. */
function isOwn(url: URL, own: URL): boolean {
  if (url.port !== own.port || url.protocol !== own.protocol) return false
  return url.hostname === own.hostname || isThisMachine(url.hostname)
}

const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))

/** @throws for a value that cannot be part of a process environment. */
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
