/** The test value of the sealing key, and what was sealed before there was one. */
import type { SealTestStore, StoredSealTest } from '../contract/directory.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Rows read for the test of a store without a test value; the newest conversations are first. */
export const SEAL_SAMPLES = 1_000

export const SEAL_TEST_SQL = 'SELECT sealed, salt FROM seal_test'
export const PUT_SEAL_TEST_SQL = `INSERT INTO seal_test (n, sealed, salt) VALUES (1, ?, ?)
  ON CONFLICT (n) DO UPDATE SET sealed = excluded.sealed, salt = excluded.salt`
const ADD_SQL = 'INSERT INTO seal_test (n, sealed, salt) VALUES (1, ?, ?) ON CONFLICT (n) DO NOTHING'
/** Parameters: the prefix, and the number of rows. */
export const SAMPLES_SQL = `
  SELECT sealed AS text FROM secrets
  UNION ALL SELECT json FROM settings WHERE instr(json, ?1) > 0
  UNION ALL SELECT json FROM documents WHERE instr(json, ?1) > 0
  UNION ALL SELECT text FROM (SELECT record AS text FROM records WHERE instr(record, ?1) > 0 ORDER BY conversation DESC)
  LIMIT ?2`

export function sqliteSealTest(sql: Sql, commits: GroupCommit): SealTestStore {
  return {
    get: () =>
      commits.read(() => {
        const row = sql.get<StoredSealTest>(SEAL_TEST_SQL)
        return row === undefined ? null : { ...row }
      }),
    add: ({ sealed, salt }) =>
      commits.write(() => {
        sql.run(ADD_SQL, sealed, salt)
        return { ...sql.get<StoredSealTest>(SEAL_TEST_SQL)! }
      }),
    put: ({ sealed, salt }) => commits.write(() => void sql.run(PUT_SEAL_TEST_SQL, sealed, salt)),
    samples: (prefix) =>
      commits.read(() => sql.all<{ text: string }>(SAMPLES_SQL, prefix, SEAL_SAMPLES).map(({ text }) => text)),
  }
}
