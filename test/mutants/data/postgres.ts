import type { MutatedFile } from '../mutant.ts'

/** Guards of the store in PostgreSQL. */
export const postgres: readonly MutatedFile[] = [
  {
    file: 'packages/server/src/storage/postgres/append-sql.ts',
    tests: ['test/storage/postgres.test.ts', 'packages/server/src/storage/postgres/lost-connections.test.ts'],
    mutants: [
      { before: ' AND c.epoch = w.epoch', after: '' },
      { before: ' AND c.seq = w.expected', after: '' },
      { before: ' AND c.append_id IS DISTINCT FROM w.attempt', after: '' },
      { before: ' AND s.n = w.masked_version', after: '' },
    ],
  },
  {
    file: 'packages/server/src/storage/postgres/appends.ts',
    tests: ['test/storage/postgres.test.ts', 'packages/server/src/storage/postgres/lost-connections.test.ts'],
    mutants: [
      { before: ' || ids.has(id)', after: '' },
      { before: 'isLost(error) && wait !== undefined', after: 'false' },
    ],
  },
  {
    file: 'packages/server/src/storage/postgres/database.ts',
    tests: ['packages/server/src/storage/postgres/lost-connections.test.ts'],
    mutants: [{ before: "        client.on('error', () => undefined)\n", after: '' }],
  },
  {
    file: 'packages/server/src/storage/postgres/records.ts',
    tests: ['test/storage/postgres.test.ts'],
    mutants: [{ before: ' || (await sql.get(IS_TAKEN_SQL, id, owner)) !== undefined', after: '' }],
  },
  {
    file: 'packages/server/src/storage/postgres/migrations.ts',
    tests: ['packages/server/src/storage/postgres/open.test.ts'],
    mutants: [{ before: "    await sql.run('SELECT pg_advisory_xact_lock($1, 0)', MIGRATION_LOCK)\n", after: '' }],
  },
]
