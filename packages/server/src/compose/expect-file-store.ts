/** Commands that work on the file of a SQLite store. */
import { ParleyError } from '@parley/protocol'

/** @throws ParleyError `unsupported` when the store is a database. @param instead what to do in that case */
export function expectFileStore(command: string, databaseUrl: string | null, instead: string): void {
  if (databaseUrl === null) return
  throw new ParleyError(
    'unsupported',
    `parley ${command} works on the SQLite store of a data directory, and database_url (PARLEY_DATABASE_URL) names a database; ${instead}`,
  )
}
