/** The test value of the sealing key, and what was sealed before there was one. */
import type { SealTestStore, StoredSealTest } from '../contract/directory.ts'
import type { Database } from './database.ts'

/** Rows read for the test of a store without a test value; the newest conversations are first. */
const SAMPLES = 1_000

const PUT_SQL = `INSERT INTO seal_test (one, sealed, salt) VALUES (1, $1, $2)
  ON CONFLICT (one) DO UPDATE SET sealed = excluded.sealed, salt = excluded.salt`
const SAMPLES_SQL = `
  SELECT sealed AS text FROM secrets
  UNION ALL SELECT json FROM settings WHERE strpos(json, $1) > 0
  UNION ALL SELECT json FROM documents WHERE strpos(json, $1) > 0
  UNION ALL SELECT text FROM (SELECT record AS text FROM records WHERE strpos(record, $1) > 0 ORDER BY conversation DESC) newest
  LIMIT ${SAMPLES}`

const ADD_SQL = 'INSERT INTO seal_test (one, sealed, salt) VALUES (1, $1, $2) ON CONFLICT (one) DO NOTHING'
const GET_SQL = 'SELECT sealed, salt FROM seal_test'

export function postgresSealTest(database: Database): SealTestStore {
  return {
    get: () => database.read(async (sql) => (await sql.get<StoredSealTest>(GET_SQL)) ?? null),
    add: ({ sealed, salt }) =>
      database.write(async (sql) => {
        await sql.run(ADD_SQL, sealed, salt)
        return (await sql.get<StoredSealTest>(GET_SQL))!
      }),
    put: ({ sealed, salt }) => database.write(async (sql) => void (await sql.run(PUT_SQL, sealed, salt))),
    samples: (prefix) =>
      database.read(async (sql) => (await sql.all<{ text: string }>(SAMPLES_SQL, prefix)).map(({ text }) => text)),
  }
}
