/**
 * A copy of a store in one file: consistent also while a server writes to it, and checked. The copied store is not changed, and
 * neither is its schema. Source: docs/operations.md, Backup.
 */
import { chmod } from 'node:fs/promises'
import { backup, DatabaseSync } from 'node:sqlite'
import { ParleyError } from '@parley/protocol'
import type { SealTestStore, StoredSealTest } from '../contract/directory.ts'
import { explained } from './failures.ts'
import { isOfParley, SCHEMA_VERSION } from './migrations.ts'
import { SAMPLES_SQL, SEAL_TEST_SQL, SEAL_SAMPLES } from './seal-test.ts'

const BUSY_TIMEOUT_MS = 3_000
/** More than a file can have: a copy in several steps would begin again whenever another process writes. */
const ALL_PAGES = 2 ** 31 - 1

/**
 * Copies the store at `from` to the new file `to`, with mode 0600. Resolves with the number of its schema.
 * @throws ParleyError `unavailable` when it cannot be read, is damaged, of another program or of a newer Parley.
 */
export async function copyStore(from: string, to: string): Promise<number> {
  try {
    using source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    await backup(source, to, { rate: ALL_PAGES })
    await chmod(to, 0o600)
    return checked(from, to)
  } catch (error) {
    throw explained(error, from)
  }
}

function checked(from: string, copy: string): number {
  const refuse = (why: string) => new ParleyError('unavailable', `store ${from} ${why}`, { details: { store: from } })
  using database = new DatabaseSync(copy)
  const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  if (!isOfParley(Number(pragma('application_id')))) throw refuse('belongs to another program')
  const version = Number(pragma('user_version'))
  if (version > SCHEMA_VERSION)
    throw refuse(`has schema ${version}, this Parley knows up to ${SCHEMA_VERSION}: use the newer Parley that wrote it`)
  const fault = pragma('integrity_check(1)')
  if (fault !== 'ok')
    throw refuse(`is damaged (${String(fault).replaceAll('\n', ' ')}): restore it from an earlier backup`)
  // A single file: no write-ahead log stays beside it.
  pragma('journal_mode = DELETE')
  return version
}

/** The test value and the samples of a copied store, which is not changed. */
export function sealTestOf(copy: string): SealTestStore {
  const read = <Row>(sql: string, ...values: (string | number)[]): Row[] => {
    using database = new DatabaseSync(copy, { readOnly: true })
    return database.prepare(sql).all(...values) as Row[]
  }
  // The copy may have an older schema.
  const columns = () =>
    read<{ name: string }>("SELECT name FROM pragma_table_info('seal_test')").map(({ name }) => name)
  const test = (): StoredSealTest | undefined => {
    const known = columns()
    if (!known.includes('sealed')) return undefined
    return read<StoredSealTest>(
      known.includes('salt') ? SEAL_TEST_SQL : 'SELECT sealed, NULL AS salt FROM seal_test',
    )[0]
  }
  return {
    get: async () => {
      const row = test()
      return row === undefined ? null : { ...row }
    },
    add: async (first) => first,
    put: async () => undefined,
    samples: async (prefix) => read<{ text: string }>(SAMPLES_SQL, prefix, SEAL_SAMPLES).map(({ text }) => text),
  }
}
