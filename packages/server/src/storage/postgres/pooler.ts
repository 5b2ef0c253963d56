/** Finds poolers that give one session of the server to several clients, where locks and subscriptions of sessions do not work. */
import { ParleyError } from '@parley/protocol'
import { explained } from './failures.ts'
import { Session } from './session.ts'

const DEADLINE_MS = 5_000
const BACKEND_SQL = 'SELECT pg_backend_pid() AS pid'

/**
 * Expects that a connection keeps its session. Two connections that have one backend in turn prove the opposite: while the second one is in a
 * transaction, a pooler gives the first one another backend, or has given its backend to the second one.
 * @throws ParleyError `unavailable` with the remedy
 */
export async function expectSessions({ url, name }: { url: string; name: string }): Promise<void> {
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
    if (before === after && after !== beside) return
  } catch (error) {
    throw explained(error, name)
  } finally {
    await Promise.all(sessions.map((session) => session.end()))
  }
  throw new ParleyError(
    'unavailable',
    `database ${name} is behind a pooler that shares sessions between clients (PgBouncer with pool_mode = transaction): set ` +
      'PARLEY_DATABASE_URL to the database itself, or to a pool with pool_mode = session',
    { details: { store: name } },
  )
}
