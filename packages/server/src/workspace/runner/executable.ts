import { accessSync, constants, statSync } from 'node:fs'

/** Whether a path is a file that this account may run. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    // Not there or not allowed.
    return false
  }
}
