/** Turns errors of the driver, identified by SQLite's result codes, into errors whose message says what to do. */
import { ParleyError } from '@parley/protocol'

const BUSY = 5
const NOMEM = 7
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PROTOCOL = 15
const NOTADB = 26
const CONSTRAINT_UNIQUE = 2067
const CONSTRAINT_PRIMARYKEY = 1555

/** The extended result code; undefined for errors of other origin. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode : undefined
}

export function isDuplicate(error: unknown): boolean {
  const code = resultCode(error)
  return code === CONSTRAINT_UNIQUE || code === CONSTRAINT_PRIMARYKEY
}

/** True when another connection holds the lock that a statement needs. */
export const isLocked = (error: unknown): boolean => ((resultCode(error) ?? 0) & 0xff) === BUSY

const WAYS_OUT: Readonly<Record<number, string>> = {
  [BUSY]: 'another process keeps it locked: end that process, or try again',
  [NOMEM]: 'there is not enough memory: free some',
  [READONLY]: 'it cannot be written: check the owner and mode of the file and of its directory',
  [IOERR]: 'reading or writing failed: check the disk',
  [CORRUPT]: 'it is damaged: restore it from a backup',
  [FULL]: 'the disk is full: free some space',
  [CANTOPEN]: 'it cannot be opened: check that the directory exists and may be written',
  [PROTOCOL]: 'another process keeps it locked: end that process, or try again',
  [NOTADB]: 'it is not a SQLite database: choose another data directory',
}

/** The same error, or `unavailable` with advice when the machine, and not the request, is the cause. */
export function explained(error: unknown, path: string): unknown {
  const code = resultCode(error)
  const remedy = code === undefined ? undefined : WAYS_OUT[code & 0xff]
  if (remedy === undefined) return error
  return new ParleyError('unavailable', `store ${path}: ${remedy}`, { details: { store: path }, cause: error })
}
