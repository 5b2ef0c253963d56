/**
 * Finds poolers that give one session of the server to several clients, such as PgBouncer in transaction mode. Settings of a session,
 * prepared statements, locks and subscriptions fail there, some of them without an error.
 */
import { ParleyError } from '@parley/protocol'
import { explained, QueryFailure } from './failures.ts'
import { Session } from './session.ts'

const DEADLINE_MS = 5_000
const BACKEND_SQL = 'SELECT pg_backend_pid() AS pid'
/** A pooler that gives a session to each statement refuses transactions, in this way. */
const NO_TRANSACTIONS = '08P01'

export const POOLER_REMEDY =
  'set PARLEY_DATABASE_URL (or PARLEY_DATABASE_SESSION_URL, if it names the pooler) to the database itself, or to a pool with pool_mode = session'

/**
 * True when two connections can have the same session: while the second one is in a transaction, a pooler gives the first one another
 * backend, or has given its backend to the second one.
 * @throws ParleyError `unavailable` with the remedy
 */
export async function sharesSessions({ url, name }: { url: string; name: string }): Promise<boolean> {
  const open = () => Session.open({ url, name: 'parley check', deadlineMs: DEADLINE_MS })
  const pidOf = async (session: Session) => (await session.query<{ pid: number }>(BACKEND_SQL))[0]?.pid
  const sessions: Session[] = []
  try {
    const first = await open()
    sessions.push(first)
    const before = await pidOf(first)
    const second = await open()
    sessions.push(second)
    await second.query('BEGIN')
    const beside = await pidOf(second)
    const after = await pidOf(first)
    await second.query('ROLLBACK')
    return before !== after || after === beside
  } catch (error) {
    if (error instanceof QueryFailure && error.sqlState === NO_TRANSACTIONS) return true
    throw explained(error, name)
  } finally {
    await Promise.all(sessions.map((session) => session.end()))
  }
}

/** Expects that a connection keeps its session. @throws ParleyError `unavailable` with the remedy */
export async function expectSessions(address: { url: string; name: string }): Promise<void> {
  if (!(await sharesSessions(address))) return
  const { name } = address
  throw new ParleyError(
    'unavailable',
    `database ${name} is behind a pooler that shares sessions between clients (PgBouncer with pool_mode = transaction): ${POOLER_REMEDY}`,
    { details: { store: name } },
  )
}
