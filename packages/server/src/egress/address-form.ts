/**
 * Addresses in a request that the rules refuse whatever a name resolves to: numeric hosts, and schemes that are never requested. Nothing is
 * looked up; names are checked when they are connected to. Source: docs/security.md, Requests for users.
 */
import { isIP } from 'node:net'
import { invalidInput, isRecord, type Place } from '@parley/protocol'
import { covers } from './agents.ts'
import { EgressRefused } from './refusal.ts'
import { refusedClass, type EgressRules } from './rules.ts'

/** Base addresses of the operator that are allowed for a kind of member; null: none is configured. */
export type OwnAddresses = Readonly<Record<AddressKind, string | null>>

type AddressKind = 'model' | 'vendor' | 'mcp' | 'other'

/** @throws ParleyError `invalid_input` with the place of the first address that is refused by its form */
export type ExpectAddresses = (body: unknown) => void

/** Members in which equal names mean something else: texts of people, and secrets, which are looked up at hosts of the operator's list. */
const FOREIGN: ReadonlySet<string> = new Set([
  'secrets',
  'secret_sources',
  'tags',
  'client_tools',
  'initial_message',
  'observability_metadata',
  'litellm_extra_body',
  'extra_headers',
  'headers',
  'tool_call',
  'env',
])
/** Lists of MCP servers whose items may be addresses. */
const SERVER_LISTS: ReadonlySet<string> = new Set(['sse_servers', 'shttp_servers'])

export function addressForms(rules: EgressRules, own: OwnAddresses): ExpectAddresses {
  const bases = Object.fromEntries(
    Object.entries(own).map(([kind, text]) => [kind, text === null ? null : new URL(text)]),
  ) as Record<AddressKind, URL | null>

  function expectAddress(text: string, kind: AddressKind, place: Place): void {
    if (!URL.canParse(text)) return
    const url = new URL(text)
    const name = place.findLast((part) => typeof part === 'string') ?? 'address'
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw invalidInput(`${name} is no http or https address. Begin it with http:// or https://.`, place)
    const base = bases[kind]
    if (base !== null && covers(base, url)) return
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) === 0) return
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
    const refused = refusedClass(rules, { host, port, address: host })
    if (refused !== null) throw invalidInput(new EgressRefused(String(name), refused).message, place)
  }

  function expectBelow(value: unknown, place: Place): void {
    if (Array.isArray(value)) {
      const isServers = SERVER_LISTS.has(String(place.at(-1)))
      for (const [at, item] of value.entries())
        if (isServers && typeof item === 'string') expectAddress(item, 'mcp', [...place, at])
        else if (typeof item === 'object') expectBelow(item, [...place, at])
      return
    }
    if (!isRecord(value)) return
    for (const [name, member] of Object.entries(value)) {
      if (FOREIGN.has(name)) continue
      if (typeof member === 'object') expectBelow(member, [...place, name])
      if (typeof member !== 'string') continue
      const kind = kindOf(name, value)
      if (kind !== null) expectAddress(member, kind, [...place, name])
    }
  }

  return (body) => expectBelow(body, [])
}

/** The kind of an address; null for every other text. */
function kindOf(name: string, holder: Record<string, unknown>): AddressKind | null {
  if (/(?:^|_)base_url$/.test(name)) return 'model'
  if (name === 'api_url') return 'vendor'
  if (name === 'url') return holder['kind'] === 'LookupSecret' ? null : 'mcp'
  if (/(?:^|_)server_url$/.test(name)) return 'other'
  return name === 'host' && holder['kind'] === 'RemoteWorkspace' ? 'other' : null
}
