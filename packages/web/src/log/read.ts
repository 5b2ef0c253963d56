/** Reads members of events and states without trusting their shape: a newer server may send other members. */

/** An event as a frame or a page has it; members that are null may be absent. */
export type LogEvent = {
  readonly kind: string
  readonly id: string
  /** UTC, without offset. */
  readonly timestamp: string
  readonly source?: string
  readonly parent_id?: string | null
  readonly [member: string]: unknown
}

/** An object with unknown members. */
export type Members = Readonly<Record<string, unknown>>

const EMPTY: Members = {}

/** True for an object that is no list. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value as an object; an empty one when it is none. */
export const membersOf = (value: unknown): Members => (isMembers(value) ? value : EMPTY)

/** The value as a list; an empty one when it is none. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The value as a text; an empty one when it is none. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The value as a finite number; null when it is none. */
export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

/** True for an object that can be shown as an event. */
export const isLogEvent = (value: unknown): value is LogEvent =>
  isMembers(value) && typeof value['kind'] === 'string' && typeof value['id'] === 'string'

/** The text parts of a content list, joined by line ends. */
export function contentText(parts: unknown): string {
  return listOf(parts)
    .map(membersOf)
    .filter((part) => typeof part['text'] === 'string')
    .map((part) => textOf(part['text']))
    .join('\n')
}

/** The addresses of the images of a content list. */
export const contentImages = (parts: unknown): readonly string[] =>
  listOf(parts).flatMap((part) =>
    listOf(membersOf(part)['image_urls'])
      .map(textOf)
      .filter((url) => url !== ''),
  )

/** Milliseconds since 1970 of a timestamp without offset, which is UTC; null when it cannot be read. */
export function timeOf(timestamp: unknown): number | null {
  const text = textOf(timestamp)
  if (text === '') return null
  const at = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
  return Number.isNaN(at) ? null : at
}
