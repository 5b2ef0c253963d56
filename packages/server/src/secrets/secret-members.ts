/**
 * The positions of secrets in records, shared by sealing, unsealing and redacting, so that the same texts are hidden in responses
 * and sealed at rest. Sources: agent-server-wire.md 5.5, 5.7, 5.8, 5.9, 5.12, 8; interface.md, Authentication.
 */
import { type Json, type JsonObject, isObject, setMember } from './json.ts'

/**
 * Kind of the position of a secret text.
 * `field`: a member such as `api_key`. `static`: the value of a StaticSecret. `named`: a text in a map of secrets.
 * `env`, `header`: an entry of such a map. `lookup_header`: an entry of a header map in which only some names are secret.
 * `auth`: a credential of an MCP server.
 */
export type SecretPlace = 'field' | 'static' | 'named' | 'env' | 'header' | 'lookup_header' | 'auth'

/**
 * Replacement of one secret text; `undefined` removes the member. `holder`: the object with the member, or the one with the map of
 * the entry.
 */
export type Replace = (text: string, place: SecretPlace, name: string, holder: JsonObject) => Json | undefined

const FIELDS: ReadonlySet<string> = new Set([
  'api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'acp_resume_session_id',
  'access_key',
  'private_key',
  'secret_key',
  'session_api_key',
  'password',
  'passphrase',
  'secret',
  'token',
  'authorization',
])
const FIELD_ENDINGS = ['_api_key', '_secret', '_password', '_token'] as const

const isField = (name: string): boolean => FIELDS.has(name) || FIELD_ENDINGS.some((ending) => name.endsWith(ending))

/** Maps whose texts are secrets, and whose objects contain one in `value`. */
const SECRET_MAPS: ReadonlySet<string> = new Set(['secrets', 'secret_sources', 'custom_secrets', 'provider_tokens'])
const ENV_MAP = /(?:^|_)env(?:ironment)?$/
const HEADER_MAP = /(?:^|_)headers$/

/** Texts of the user and schemas of tools, in which a member named `token` is not a secret. */
const OPEN_TEXT: ReadonlySet<string> = new Set(['tags', 'client_tools'])

const SECRET_WORDS = /AUTHORIZATION|COOKIE|CREDENTIAL|KEY|PASSWORD|SECRET|SESSION|TOKEN/

/** True for a name of a header or variable that usually contains a secret. Source: agent-server-wire.md 0.2. */
export const isSecretName = (name: string): boolean => SECRET_WORDS.test(name.toUpperCase())

/**
 * `value` with every secret text replaced; undefined members are dropped. A part in which nothing changes is the same object, which must
 * not be changed afterwards.
 */
export function replaceSecrets(value: Json, replace: Replace): Json {
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => replaceSecrets(item, replace))
    return items.every((item, at) => item === value[at]) ? value : items
  }
  if (!isObject(value)) return value
  const isStatic = value.kind === 'StaticSecret'
  return mapMembers(value, (name, member) => {
    const lower = name.toLowerCase()
    if (OPEN_TEXT.has(lower)) return member
    if (typeof member === 'string') {
      if (isStatic && lower === 'value') return replace(member, 'static', name, value)
      return isField(lower) ? replace(member, 'field', name, value) : member
    }
    if (!isObject(member)) return replaceSecrets(member, replace)
    if (SECRET_MAPS.has(lower)) return secretMap(member, replace)
    if (ENV_MAP.test(lower)) return everyText(member, 'env', value, replace)
    if (HEADER_MAP.test(lower)) {
      const isMixed = value.kind === 'LookupSecret' || lower === 'extra_headers'
      return everyText(member, isMixed ? 'lookup_header' : 'header', value, replace)
    }
    if (lower === 'auth') return auth(member, replace)
    return replaceSecrets(member, replace)
  })
}

/** `agent_context.secrets`, sources of a secret registry, custom secrets and provider tokens of the conversation service. */
function secretMap(map: JsonObject, replace: Replace): JsonObject | undefined {
  return mapMembers(map, (name, entry) => {
    if (typeof entry === 'string') return replace(entry, 'named', name, map)
    const inner = replaceSecrets(entry, replace)
    // A source without a kind: `{ "value": … }`. Sources with a kind are handled above.
    if (!isObject(inner) || 'kind' in inner || typeof inner.value !== 'string') return inner
    return mapMembers(inner, (member, text) =>
      member === 'value' && typeof text === 'string' ? replace(text, 'static', member, inner) : text,
    )
  })
}

/** An MCP server's credential. Source: agent-server-wire.md 5.9. */
function auth(credential: JsonObject, replace: Replace): JsonObject {
  return mapMembers(credential, (name, member) => {
    const lower = name.toLowerCase()
    if (typeof member === 'string')
      return lower === 'value' || isField(lower) ? replace(member, 'auth', name, credential) : member
    if (!isObject(member)) return member
    const isMap = lower === 'tokens' || HEADER_MAP.test(lower)
    return isMap ? everyText(member, 'auth', credential, replace) : auth(member, replace)
  })
}

/** Replaces every text at any depth. A map that loses all its entries is removed too. */
function everyText(map: JsonObject, place: SecretPlace, holder: JsonObject, replace: Replace): JsonObject | undefined {
  const below = (name: string, value: Json): Json | undefined => {
    if (typeof value === 'string') return replace(value, place, name, holder)
    if (Array.isArray(value)) return value.map((item: Json) => below(name, item) ?? null)
    return isObject(value) ? mapMembers(value, below) : value
  }
  const result = mapMembers(map, below)
  const hadEntries = Object.values(map).some((entry) => (entry as Json | undefined) !== undefined)
  return hadEntries && Object.keys(result).length === 0 ? undefined : result
}

/** A large object without secrets is not copied: that would take as long as reading it. */
function mapMembers(object: JsonObject, change: (name: string, member: Json) => Json | undefined): JsonObject {
  const names = Object.keys(object)
  let copy: Record<string, Json> | null = null
  for (const [at, name] of names.entries()) {
    const member = object[name]!
    const changed = change(name, member)
    if (copy === null) {
      if (changed === member && changed !== undefined) continue
      copy = {}
      for (const before of names.slice(0, at)) setMember(copy, before, object[before])
    }
    if (changed !== undefined) setMember(copy, name, changed)
  }
  return copy ?? object
}
