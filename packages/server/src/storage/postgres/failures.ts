/** Turns errors of the driver, identified by their SQLSTATE, into errors whose message says what to do. */
import { ParleyError } from '@parley/protocol'

/** A statement that failed. `isLost`: the connection ended, so it is not known whether the statement took effect. */
export class QueryFailure extends Error {
  /** Five characters; undefined for an error of the connection. */
  readonly sqlState: string | undefined
  readonly isLost: boolean
  /** Name of the violated constraint. */
  readonly constraint: string | undefined

  constructor(cause: unknown) {
    // Without the driver's `detail`, which repeats stored values.
    super(cause instanceof Error ? cause.message : String(cause))
    this.name = 'QueryFailure'
    const { code, constraint, severity } = cause as { code?: unknown; constraint?: unknown; severity?: unknown }
    const isAnswer = typeof severity === 'string' && typeof code === 'string'
    this.sqlState = isAnswer ? code : undefined
    this.constraint = typeof constraint === 'string' ? constraint : undefined
    this.isLost = !isAnswer || ENDED.test(code)
  }
}

/** Connection exceptions, a transaction that was idle for too long, an ended or starting server, and no free connection. */
const ENDED = /^(?:08|25P03|57P0[1-5]|53300)/
const UNIQUE_VIOLATION = '23505'
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK = '40P01'
/** A transaction that waited for its client for too long, which the server rolled back with its connection. */
const IDLE = '25P03'
/** An index entry of more than 2,704 bytes. */
const TOO_LONG = '54000'

/** True for a violated unique constraint, or for the named one. */
export const isDuplicate = (error: unknown, constraint?: string): boolean =>
  error instanceof QueryFailure &&
  error.sqlState === UNIQUE_VIOLATION &&
  (constraint === undefined || error.constraint === constraint)

/** True for a transaction that the server has rolled back, also one whose COMMIT came too late; it may succeed when it is repeated. */
export const isRepeatable = (error: unknown): boolean =>
  error instanceof QueryFailure && [SERIALIZATION_FAILURE, DEADLOCK, IDLE].includes(error.sqlState ?? '')

/** True for a statement that failed because of its values, as one member of a group may make it fail. */
export const isOfValues = (error: unknown): boolean =>
  error instanceof QueryFailure && error.sqlState !== undefined && /^(?:22|23|54)/.test(error.sqlState)

export const isLost = (error: unknown): boolean => error instanceof QueryFailure && error.isLost

/** By the first characters of the SQLSTATE; the first match counts. */
const WAYS_OUT: readonly (readonly [start: string, remedy: string])[] = [
  ['28', 'it refuses the user or the password: check both in PARLEY_DATABASE_URL'],
  ['3D000', 'there is no database of this name: create it, or check the name in PARLEY_DATABASE_URL'],
  ['42501', 'the user may not create or change what Parley needs: make the user the owner of the database'],
  ['53100', 'its disk is full: free some space'],
  ['53200', 'it has not enough memory: free some'],
  ['53300', 'it has no free connection: raise max_connections, or end other programs'],
  ['25006', 'it is read-only: name the primary server in PARLEY_DATABASE_URL'],
  ['57014', 'a statement took too long: check the load of the server'],
  ['57P03', 'it is starting or stopping: try again'],
  ['40', 'concurrent changes keep each other from ending: try again'],
  ['58', 'reading or writing failed: check its disk'],
  ['XX', 'it reports damaged data: restore it from a backup'],
]

/** The same error, or `unavailable` with advice when the database, and not the request, is the cause; `too_large` for a long name. */
export function explained(error: unknown, store: string): unknown {
  if (!(error instanceof QueryFailure)) return error
  const state = error.sqlState
  if (state === TOO_LONG)
    return new ParleyError('too_large', `a name is longer than database ${store} can index: use a shorter one`, {
      details: { store },
      cause: error,
    })
  const known = state === undefined ? undefined : WAYS_OUT.find(([start]) => state.startsWith(start))
  const remedy = known?.[1] ?? (error.isLost ? `the connection failed (${error.message}): check that it runs` : null)
  if (remedy === null) return error
  return new ParleyError('unavailable', `database ${store}: ${remedy}`, { details: { store }, cause: error })
}
