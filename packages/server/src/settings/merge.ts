/**
 * How a change meets what is stored. Pure. Sources: agent-server-wire.md 1.10; agent-core.md 12.7, F71.
 *
 * Rules
 *   M1. A member that is not named stays.
 *   M2. Null removes a member of a map; at the top of a group it is kept, for the schema to judge.
 *   M3. Maps are merged; lists are replaced whole.
 *   M4. The mask means "unchanged": what is stored stays, and where nothing is stored the member is left out.
 *   M5. A map whose variant changes starts from nothing: what belonged to the other variant must not leak into it.
 */
import { HIDDEN, isObject, type Json, type JsonObject } from '../secrets/index.ts'

export { isObject }

/** Members that say which variant a map is. */
const TAGS = ['agent_kind', 'kind', 'strategy', 'type'] as const

/** A group of settings after a change (M2). */
export function mergeGroup(current: JsonObject, patch: JsonObject): JsonObject {
  const nulls = Object.entries(patch).filter(([, member]) => member === null)
  return { ...merge(current, patch), ...Object.fromEntries(nulls) }
}

/** A map after a change. */
export function merge(current: JsonObject, patch: JsonObject): JsonObject {
  const base = isOtherVariant(current, patch) ? {} : current
  // Built from entries, so that a member called `__proto__` is a member like any other.
  const merged = new Map(Object.entries(base))
  for (const [name, change] of Object.entries(patch)) {
    const before = Object.hasOwn(base, name) ? base[name] : undefined
    const after = mergeMember(before, change)
    if (after === undefined) merged.delete(name)
    else merged.set(name, after)
  }
  return Object.fromEntries(merged)
}

function mergeMember(before: Json | undefined, change: Json): Json | undefined {
  if (change === null) return undefined
  if (change === HIDDEN) return before
  if (isObject(change)) return merge(isObject(before) ? before : {}, change)
  if (Array.isArray(change)) return unmasked(change as readonly Json[], before)
  return change
}

/** A list as it is written, its masked members taken from what stands at the same place in the stored list (M4). */
function unmasked(list: readonly Json[], before: Json | undefined): readonly Json[] {
  const stored = Array.isArray(before) ? (before as readonly Json[]) : []
  return list.map((item, index) => {
    if (!isObject(item)) return item
    const old = stored[index]
    const members = Object.entries(item).flatMap(([name, member]): [string, Json][] => {
      const known = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined
      if (member === null) return [[name, null]]
      const kept = mergeMember(isObject(member) ? maskedOnly(member, known) : known, member)
      return kept === undefined ? [] : [[name, kept]]
    })
    return Object.fromEntries(members)
  })
}

/** Of a stored map only what the written one masks: everything else in a list comes from the written one alone. */
function maskedOnly(written: JsonObject, known: Json | undefined): JsonObject {
  if (!isObject(known)) return {}
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, member]): [string, Json][] => {
      const mine = Object.hasOwn(written, name) ? written[name] : undefined
      if (mine === HIDDEN) return [[name, member]]
      return isObject(mine) ? [[name, maskedOnly(mine, member)]] : []
    }),
  )
}

function isOtherVariant(current: JsonObject, patch: JsonObject): boolean {
  return TAGS.some((tag) => {
    const wanted = Object.hasOwn(patch, tag) ? patch[tag] : undefined
    return (
      typeof wanted === 'string' && wanted !== HIDDEN && typeof current[tag] === 'string' && current[tag] !== wanted
    )
  })
}

/**
 * Of a sparse map only what its schema knows, in the form the schema gives it. `whole` is the map with all defaults.
 */
export function prune(sparse: JsonObject, whole: JsonObject): JsonObject {
  const known = Object.entries(sparse).filter(([name]) => Object.hasOwn(whole, name))
  return Object.fromEntries(
    known.map(([name, member]) => {
      const read = whole[name] as Json
      return [name, isObject(member) && isObject(read) ? prune(member, read) : read]
    }),
  )
}
