/**
 * Merging of a change into stored settings. Pure. Sources: agent-server-wire.md 1.10; agent-core.md 12.7, F71.
 *
 * Rules
 *   M1. Absent members keep their value.
 *   M2. Null removes a member of a map; at the top of a group, null is kept and the schema decides.
 *   M3. Maps are merged; lists are replaced.
 *   M4. The mask means "unchanged": the stored value stays; without one, the member is omitted.
 *   M5. A map whose variant changes starts empty, so that no member of the old variant remains.
 */
import { HIDDEN, isObject, type Json, type JsonObject } from '../secrets/index.ts'

export { isObject }

/** Members that name the variant of a map. */
const TAGS = ['agent_kind', 'kind', 'strategy', 'type'] as const

/** Returns a group of settings after a change (M2). */
export function mergeGroup(current: JsonObject, patch: JsonObject): JsonObject {
  const nulls = Object.entries(patch).filter(([, member]) => member === null)
  return { ...merge(current, patch), ...Object.fromEntries(nulls) }
}

/** Returns a map after a change. */
export function merge(current: JsonObject, patch: JsonObject): JsonObject {
  const base = isOtherVariant(current, patch) ? {} : current
  // Built from entries, so that `__proto__` is an ordinary member.
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

/** A written list, with masked members taken from the same index of the stored list (M4). */
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

/** The members of a stored map that the written map masks; all other members of a list item come from the written map. */
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

/** Returns the members of a sparse map that its schema knows, in the schema's form. `whole` is the map with all defaults. */
export function prune(sparse: JsonObject, whole: JsonObject): JsonObject {
  const known = Object.entries(sparse).filter(([name]) => Object.hasOwn(whole, name))
  return Object.fromEntries(
    known.map(([name, member]) => {
      const read = whole[name] as Json
      return [name, isObject(member) && isObject(read) ? prune(member, read) : read]
    }),
  )
}
