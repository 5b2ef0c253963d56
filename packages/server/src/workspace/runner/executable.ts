import { accessSync, constants, statSync } from 'node:fs'

/** True for a file that this account may execute. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    // Missing, or not permitted.
    return false
  }
}
