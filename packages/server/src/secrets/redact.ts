/** Removes secrets from data that leaves the server. Sources: agent-server-wire.md 0.2, 5.2, 8.1; conversation-service.md 7.1. */
import { type Json, isObject, setMember } from './json.ts'
import { isSecretName, replaceSecrets, type SecretPlace } from './secret-members.ts'

/** Stands for a secret that is set and not shown. A client that sends it back means "unchanged". */
export const HIDDEN = '**********'

/**
 * `rest`: null or absent, for ConversationInfo over REST and webhooks. `socket`: `**********`, also for settings and
 * profiles. `plain`: unchanged, for a client that requested it explicitly.
 */
export type RedactMode = 'rest' | 'socket' | 'plain'

/** A copy of a record, as plain JSON data, with its secrets in the given mode. */
export function redact(value: unknown, mode: RedactMode): unknown {
  const record = JSON.parse(JSON.stringify(value)) as Json
  switch (mode) {
    case 'plain':
      return record
    case 'socket':
      return replaceSecrets(record, (text, place, name) => (isShown(place, name) ? text : text === '' ? '' : HIDDEN))
    case 'rest':
      return replaceSecrets(record, (text, place, name) => (isShown(place, name) ? text : inRest(place)))
  }
}

/** Headers of a look-up and of a model's requests are shown unless their name indicates a secret. */
const isShown = (place: SecretPlace, name: string): boolean => place === 'lookup_header' && !isSecretName(name)

function inRest(place: SecretPlace): Json | undefined {
  switch (place) {
    case 'field':
    case 'static':
      return null
    case 'named':
      return HIDDEN
    case 'env':
    case 'header':
    case 'lookup_header':
    case 'auth':
      return undefined
  }
}

/** Longest JSON text that an echoed input may have, in characters. */
const MAX_INPUT_CHARS = 4_096
const MAX_TEXT_CHARS = 1_024
const MAX_ITEMS = 50
/** Members with longer names are left out. */
const MAX_NAME_CHARS = 256
/** Values that are visited: the rest of a wide and deep input is left out. */
const MAX_VISITED = 1_000
/** A text that was not parsed is searched for names up to here, and hidden when it is longer. */
const MAX_SEARCHED_CHARS = 65_536
/** Levels that are traversed: no endpoint accepts deeper values, and a hostile body must not exhaust the stack. */
const MAX_DEPTH = 12
const CUT = '…'

const WHOLE_BRANCH = /(?:^|_)(?:env|environment|headers)$/i

/** The user and the password of an address in a text. */
const USER_OF_ADDRESS = /\/\/[^/?#\s@"']*@/g

const hides = (name: string): boolean => isSecretName(name) || WHOLE_BRANCH.test(name) || name.toLowerCase() === 'value'

/**
 * A value of a refused request for a 422 response: shortened, with texts and numbers under secret-like names hidden.
 * `at` is the path of the value, so that it is also hidden when a name above it is secret-like.
 */
export function redactInput(value: unknown, at: readonly PropertyKey[] = []): unknown {
  const isHidden = at.slice(1).some((part) => typeof part === 'string' && hides(part))
  // A body that was not parsed as JSON is one text, in which names and values cannot be distinguished.
  if (typeof value === 'string' && at.length <= 1 && mayNameSecret(value)) return HIDDEN
  const shown = hideInput(value, isHidden, MAX_DEPTH, { left: MAX_VISITED })
  if (jsonLength(shown) <= MAX_INPUT_CHARS) return shown
  return shorten(shown)
}

const mayNameSecret = (text: string): boolean =>
  /[{[=:]/.test(text.slice(0, MAX_SEARCHED_CHARS)) && (text.length > MAX_SEARCHED_CHARS || isSecretName(text))

function hideInput(value: unknown, isHidden: boolean, depth: number, budget: { left: number }): unknown {
  budget.left -= 1
  if (typeof value === 'string') {
    if (isHidden) return HIDDEN
    const shown = value.length <= MAX_TEXT_CHARS ? value : value.slice(0, MAX_TEXT_CHARS).toWellFormed() + CUT
    return shown.replace(USER_OF_ADDRESS, `//${HIDDEN}@`)
  }
  if (typeof value === 'number') return isHidden ? HIDDEN : value
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return CUT
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value.slice(0, MAX_ITEMS)) {
      if (budget.left <= 0) break
      items.push(hideInput(item, isHidden, depth - 1, budget))
    }
    return items
  }
  const result: Record<string, unknown> = {}
  for (const name of Object.keys(value).slice(0, MAX_ITEMS)) {
    if (budget.left <= 0) break
    if (name.length > MAX_NAME_CHARS) continue
    const member = (value as Record<string, unknown>)[name]
    setMember(result, name, hideInput(member, isHidden || hides(name), depth - 1, budget))
  }
  return result
}

/** Keeps the leading members that fit, one level deep. */
function shorten(value: unknown): unknown {
  const room = MAX_INPUT_CHARS - 2
  let used = 0
  const fits = (part: unknown): boolean => (used += jsonLength(part) + 1) <= room
  if (Array.isArray(value)) return value.filter((item) => fits(item))
  if (!isObject(value)) return CUT
  const result: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) if (fits({ [name]: member })) setMember(result, name, member)
  return result
}

const jsonLength = (value: unknown): number => JSON.stringify(value)?.length ?? 0
