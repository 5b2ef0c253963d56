/** The stored data of releases, in `test/fixtures/releases`. */
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const RELEASES = fileURLToPath(new URL('../../../test/fixtures/releases/', import.meta.url))

/** The key that the releases were stored with, for `PARLEY_SECRET_KEY`. */
export const RELEASE_KEY = 'key of the stored releases'

/** Ids of the conversations of a release. */
export type ReleaseIds = Record<
  'finished' | 'waiting' | 'goal' | 'parent' | 'child' | 'fork' | 'open' | 'received',
  string
>

/** Names of the releases whose data is stored, oldest first. */
export const releaseNames = (): string[] =>
  readdirSync(RELEASES, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))

const file = (release: string, name: string) => readFileSync(join(RELEASES, release, name))

/**
 * Replaces the store of a data directory by that of a release, while no server uses the directory.
 * @param model URL of the model server of its conversations, without a trailing slash
 * @param work folder of their working directories, which is created
 */
export async function restoreRelease(
  release: string,
  { dataDir, model, work }: { dataDir: string; model: string; work: string },
): Promise<ReleaseIds> {
  const store = join(dataDir, 'parley.db')
  for (const end of ['', '-wal', '-shm']) await rm(store + end, { force: true })
  const sql = gunzipSync(file(release, 'parley.sql.gz'))
    .toString()
    .replaceAll('@MODEL@', model)
    .replaceAll('@WORK@', work)
    .replaceAll('@DATA@', dataDir)
  await mkdir(dataDir, { recursive: true })
  await mkdir(work, { recursive: true })
  using database = new DatabaseSync(store)
  // Without waiting for the disk: every statement is a transaction, and each would block this process.
  database.exec('PRAGMA synchronous = OFF')
  database.exec(sql)
  return JSON.parse(file(release, 'ids.json').toString()) as ReleaseIds
}
