/** The frame in which a socket presents its key. Source: agent-server-wire.md 2.2. */
import { isRecord } from '@parley/protocol'

/** The key in a first frame; undefined when the frame is absent, late, not JSON, or of another kind. */
export function firstKey(frame: string | null): string | undefined {
  if (frame === null) return undefined
  const value = parsed(frame)
  if (!isRecord(value) || value['type'] !== 'auth') return undefined
  const key = value['session_api_key']
  return typeof key === 'string' ? key : undefined
}

/** True for a later frame that repeats the key; clients send it without knowing whether it is needed. */
export function isIntroduction(value: unknown): boolean {
  return (
    isRecord(value) &&
    value['type'] === 'auth' &&
    Object.keys(value).every((name) => name === 'type' || name === 'session_api_key')
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
