/** Reader of webhook targets: a list of objects, in JSON or one variable per member. Source: agent-server-wire.md 7, 10.2. */
import { ConfigError } from './error.ts'
import { isLoopback } from './loopback.ts'
import { listOf, type Given, type Reader } from './values.ts'
import type { WebhookTarget } from '../webhooks/index.ts'

type Members = Readonly<Record<string, unknown>>

/** Members of other servers' lists without effect here: no delivery is dropped, and each is retried for a day. */
const IGNORED = ['num_retries', 'max_queue_size', 'max_queue_bytes']
const MEMBERS = [
  'base_url',
  'headers',
  'secret',
  'api_key',
  'insecure',
  'events',
  'waiting',
  'event_buffer_size',
  'flush_delay',
  'max_batch_bytes',
  'retry_delay',
  ...IGNORED,
]
const MIB = 1024 * 1024
/** Seconds. A shorter wait would be a busy loop; other servers allow 0. */
const SHORTEST_DELAY = 0.01
/** Key lengths that the signature's specification allows, in bytes. */
const KEY_BYTES = { least: 24, most: 64 }

/** `NAME_0_BASE_URL`, `NAME_0_HEADERS`, `NAME_1_BASE_URL`, … up to the first gap. */
function numberedObjects(env: Readonly<Record<string, string | undefined>>, name: string): Members[] {
  const objects: Members[] = []
  for (let n = 0; ; n++) {
    const object = Object.fromEntries(
      MEMBERS.map((member) => [member, env[`${name}_${n}_${member.toUpperCase()}`]]).filter(
        ([, value]) => value !== undefined && value !== '',
      ),
    ) as Members
    if (Object.keys(object).length === 0) return objects
    objects.push(object)
  }
}

/** Refusals name target and member; they contain no value that may be secret. */
export const webhooks: Reader<WebhookTarget[]> = {
  type: 'list of objects',
  numbered: numberedObjects,
  read: readWebhooks,
}

function readWebhooks({ value, origin }: Given): WebhookTarget[] {
  const list = typeof value === 'string' ? parsed(value, origin) : value
  if (!Array.isArray(list))
    throw new ConfigError(`${origin} must be a list, such as [{"base_url": "https://example.org/api/v1/webhooks"}]`)
  const targets = list.map((item: unknown, index) => target(item, `${origin}[${index}]`))
  const names = targets.map(({ base_url }) => base_url)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new ConfigError(`${origin} names ${twice} twice; a target is known by its base_url`)
  return targets
}

function target(item: unknown, where: string): WebhookTarget {
  if (!isObject(item)) throw new ConfigError(`${where} must be an object with a base_url`)
  const unknown = Object.keys(item).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined)
    throw new ConfigError(`${where} has an unknown member "${unknown}"; known are ${MEMBERS.join(', ')}`)
  const number = (member: string, otherwise: number, isGood: (value: number) => boolean, expected: string): number => {
    const given = item[member] ?? otherwise
    const read = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
    if (typeof read !== 'number' || !isGood(read)) throw new ConfigError(`${where}.${member} must be ${expected}`)
    return read
  }
  const isCount = (value: number) => Number.isInteger(value) && value >= 1
  const base_url = baseUrl(item['base_url'], where)
  const secret = signingSecret(item['secret'], where)
  if (!flag(item['insecure'], `${where}.insecure`, false)) expectSecure(base_url, secret, where)
  return {
    base_url,
    headers: headers(item['headers'], where),
    secret,
    api_key: apiKey(item['api_key'], where),
    events: flag(item['events'], `${where}.events`, true),
    waiting: flag(item['waiting'], `${where}.waiting`, false),
    event_buffer_size: number('event_buffer_size', 5, isCount, 'a whole number from 1'),
    flush_delay: number('flush_delay', 30, (value) => value > 0 && value < 86_400, 'a number of seconds above 0'),
    max_batch_bytes: number('max_batch_bytes', 5 * MIB, isCount, 'a whole number of bytes from 1'),
    retry_delay: Math.max(
      SHORTEST_DELAY,
      number('retry_delay', 1, (value) => value >= 0 && value <= 3600, 'a number of seconds from 0 to 3600'),
    ),
  }
}

function baseUrl(value: unknown, where: string): string {
  if (typeof value !== 'string' || !/^https?:\/\/./.test(value) || !URL.canParse(value))
    throw new ConfigError(`${where}.base_url must be an address such as https://example.org/api/v1/webhooks`)
  const { username, password } = new URL(value)
  if (username !== '' || password !== '')
    throw new ConfigError(`${where}.base_url must hold no user or password; use headers`)
  return value.replace(/\/+$/, '')
}

/** Off this machine, others may read deliveries on their way, and send their own to the receiver. */
function expectSecure(base_url: string, secret: string | null, where: string): void {
  const { protocol, hostname } = new URL(base_url)
  if (isLoopback(hostname)) return
  const missing = [...(protocol === 'https:' ? [] : ['an https address']), ...(secret === null ? ['a secret'] : [])]
  if (missing.length > 0)
    throw new ConfigError(
      `${where} sends to another machine without ${missing.join(' and ')}: add ${missing.length === 1 ? 'it' : 'them'}, ` +
        'or accept with "insecure": true that deliveries can be read or forged on their way',
    )
}

function headers(value: unknown, where: string): Record<string, string> {
  const given = typeof value === 'string' ? parsed(value, `${where}.headers`) : (value ?? {})
  const isGood = (text: unknown) => typeof text === 'string' && /^[\x20-\x7e]*$/.test(text)
  if (
    !isObject(given) ||
    !Object.entries(given).every(([name, text]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && isGood(text))
  )
    throw new ConfigError(`${where}.headers must be an object of header names and texts`)
  return given as Record<string, string>
}

/** Secrets of servers that send webhooks here. */
export const signingSecrets: Reader<string[]> = {
  type: 'list of `whsec_…` secrets',
  read: (given) => listOf(given).map((secret, index) => expectSecret(secret, `${given.origin}[${index}]`)),
}

const signingSecret = (value: unknown, where: string): string | null =>
  value === undefined || value === null || value === '' ? null : expectSecret(value, `${where}.secret`)

function expectSecret(value: unknown, where: string): string {
  const encoded = typeof value === 'string' ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1] : undefined
  const { length } = Buffer.from(encoded ?? '', 'base64')
  if (length < KEY_BYTES.least || length > KEY_BYTES.most)
    throw new ConfigError(
      `${where} must be whsec_ and ${KEY_BYTES.least} to ${KEY_BYTES.most} random bytes in base64; ` +
        'make one with: echo whsec_$(head -c 32 /dev/urandom | base64)',
    )
  return value as string
}

function apiKey(value: unknown, where: string): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw new ConfigError(`${where}.api_key must be a text without spaces, which can be sent in a header`)
  return value
}

function flag(value: unknown, where: string, otherwise: boolean): boolean {
  if (value === undefined || value === null) return otherwise
  const word = typeof value === 'string' ? value.toLowerCase() : JSON.stringify(value)
  if (['true', '1', 'yes', 'on'].includes(word)) return true
  if (['false', '0', 'no', 'off'].includes(word)) return false
  throw new ConfigError(`${where} must be true or false`)
}

function parsed(text: string, origin: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message would quote the value, which may be a secret.
    throw new ConfigError(`${origin} must be JSON`)
  }
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
