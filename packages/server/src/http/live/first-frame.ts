/** The frame in which a socket presents its key. Source: agent-server-wire.md 2.2. */
import { isRecord } from '@parley/protocol'
import { readJsonFrame } from './json-frame.ts'

/** The key in a first frame; undefined when the frame is not JSON, or of another kind. */
export async function firstKey(frame: Buffer): Promise<string | undefined> {
  const read = await readJsonFrame(frame)
  const value = 'value' in read ? read.value : undefined
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
