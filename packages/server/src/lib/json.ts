import { isRecord } from '@parley/protocol'

/** The JSON object that a text is; null for a text that is something else, or no JSON. */
export function parseRecord(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    // A text is JSON or it is not; both are answers.
    return null
  }
}
