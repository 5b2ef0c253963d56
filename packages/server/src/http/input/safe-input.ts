/**
 * The part of a refused input that may be sent back: secrets masked by the names above them and texts shortened (`redactInput`),
 * members that the format omits removed, and texts made well-formed. Source: conversation-service.md 7.1 and 7.2.
 */
import { isRecord } from '@parley/protocol'
import { redactInput } from '../../secrets/index.ts'
import type { Entry, Loc } from './issue-entries.ts'

/** The inputs of the entries of one response. Many entries may have the same object, which is read once. */
export class SafeInputs {
  readonly #shown = new Map<unknown, Map<string, unknown>>()

  /** The `input` of an entry. */
  of({ type, loc, input, omit, inputAt }: Entry): unknown {
    // The input of a missing member is the record around it, to which the missing name does not apply.
    const place = inputAt ?? (type === 'missing' ? loc.slice(0, -1) : loc)
    const key = JSON.stringify([place, omit])
    let known = this.#shown.get(input)
    if (known === undefined) this.#shown.set(input, (known = new Map<string, unknown>()))
    if (!known.has(key)) known.set(key, safeInput(input, place, omit))
    return known.get(key)
  }
}

function safeInput(input: unknown, place: Loc, omit: Entry['omit']): unknown {
  const shown = omit === undefined || !isRecord(input) ? input : without(input, omit)
  // `[key]` marks a refused name of a map and is no name itself.
  return wellFormed(
    redactInput(
      shown,
      place.filter((part) => part !== '[key]'),
    ),
  )
}

const without = (record: Record<string, unknown>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))

/** A lone surrogate has no UTF-8 form; `undefined` has no JSON form. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name.toWellFormed(), wellFormed(item)]))
  return value === undefined ? null : value
}
