import { realpathSync } from 'node:fs'

/** The path with all links followed; null when nothing is there, or this account cannot read it. */
export function realOf(path: string): string | null {
  try {
    return realpathSync.native(path)
  } catch {
    return null
  }
}
