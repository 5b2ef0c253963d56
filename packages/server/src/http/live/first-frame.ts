/** The frame by which a socket says who it is. Source: agent-server-wire.md 2.2. */
import { isRecord } from '@parley/protocol'

/** The key in a first frame; undefined when the frame is none, late, not JSON, or something else. */
export function firstKey(frame: string | null): string | undefined {
  if (frame === null) return undefined
  const value = parsed(frame)
  if (!isRecord(value) || value['type'] !== 'auth') return undefined
  const key = value['session_api_key']
  return typeof key === 'string' ? key : undefined
}

/** Whether a later frame only repeats the introduction; clients send it without knowing whether it is needed. */
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
