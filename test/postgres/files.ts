/**
 * The end-to-end tests that run on PostgreSQL too, with `npm run test:postgres`: every file of these folders, except those that are left out.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Folders below `test/`. */
export const FOLDERS: readonly string[] = [
  'agent-server',
  'conversation',
  'conversation-service',
  'crash',
  'guard',
  'http',
  'live',
  'modes',
  'postgres',
  'remote',
  'run',
  'steering',
  'sub-agents',
  'tools',
  'webhooks',
]

/** Files of these folders that do not run on PostgreSQL, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'conversation-service/admission.test.ts':
    'starts without keys and with keys of a prepared file, before any store is used',
  'conversation-service/fuzz.campaign.test.ts': 'reads rows of a SQLite file',
  'crash/backup.test.ts': 'parley backup copies a SQLite file, and is refused with a database',
  'crash/rekey.test.ts': 'parley secrets rekey works on a SQLite file, and is refused with a database',
  'crash/restore.test.ts': 'a SQLite file is copied into another directory',
  'crash/locked-store.campaign.test.ts':
    'holds locks of a SQLite file; test/postgres/outage.test.ts is about databases',
  'crash/matrix.campaign.test.ts': 'copies SQLite files between directories',
  'guard/approvals.campaign.test.ts': 'reads and damages rows of a SQLite file',
  'modes/users.test.ts': 'begins with the SQLite file of version 0.1.0',
}

/** The selection of `npm run test:postgres -- --short`: each subject once, within two minutes. */
export const SHORT: readonly string[] = [
  'conversation/interrupt.test.ts',
  'conversation/persistence.test.ts',
  'conversation-service/secrets.test.ts',
  'conversation-service/settings.test.ts',
  'crash/bash-end.test.ts',
  'guard/masked-calls.test.ts',
  'http/events.test.ts',
  'http/session-socket.test.ts',
  'http/sockets.test.ts',
  'postgres/outage.test.ts',
  'postgres/server.test.ts',
  'webhooks/out.test.ts',
]

const ROOT = join(import.meta.dirname, '..')

/** All files of the list, relative to the root of the repository. */
export const postgresFiles = (): string[] =>
  FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.test.ts') && !(`${folder}/${name}` in LEFT_OUT))
      .map((name) => `test/${folder}/${name}`),
  )
