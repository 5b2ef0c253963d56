import { isRecord } from '@parley/protocol'

/** Parses a JSON object; returns null for other JSON values and for invalid JSON. */
export function parseRecord(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    // Invalid JSON is an expected input.
    return null
  }
}
