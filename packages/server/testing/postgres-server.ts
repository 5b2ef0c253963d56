/** A PostgreSQL server for tests: the one of this machine, or one that is started for this run of tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'

/** The server of many machines, which trusts local connections. */
const INSTALLED = 'postgres://postgres@127.0.0.1:5432/postgres'

/** A server of the tests: `isOwn` when it ends with them, and with it all databases. */
export type PostgresServer = { url: string; isOwn: boolean }

let known: Promise<PostgresServer> | undefined

/**
 * A server in which tests may create databases: one that is started for them, because its databases need not survive a power loss, which makes
 * them faster; or the one of this machine. `PARLEY_TEST_POSTGRES` names another one. @throws when there is none.
 */
export const postgresServer = (): Promise<PostgresServer> => (known ??= findServer())

async function findServer(): Promise<PostgresServer> {
  const given = process.env['PARLEY_TEST_POSTGRES']
  if (given !== undefined) return { url: given, isOwn: false }
  const programs = programFolder()
  if (programs !== null) return { url: await startServer(programs), isOwn: true }
  if (await answers(INSTALLED)) return { url: INSTALLED, isOwn: false }
  throw new Error('tests of the PostgreSQL store need a server: install PostgreSQL 14 or later')
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query(
      'SELECT rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user',
    )
    return (rows[0] as { may: boolean }).may
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Starts a server. It ends with this process, also with one that is killed, because its shell reads the end of a pipe. */
async function startServer(programs: string): Promise<string> {
  const account = accountOfServer()
  // The other account may be unable to enter a TMPDIR of root's.
  const dir = await mkdtemp(join(account === null ? tmpdir() : '/tmp', 'parley-postgres-'))
  if (account !== null) await chown(dir, account.uid, account.gid)
  const data = join(dir, 'data')
  const made = spawn(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'],
    {
      ...account,
      cwd: dir,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  const [code] = (await once(made, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`initdb ended with ${code}`)
  // Everyone is trusted, except this role of the tests of passwords.
  const rules = join(data, 'pg_hba.conf')
  await writeFile(rules, `host all parley_guarded all scram-sha-256\n${await readFile(rules, 'utf8')}`)
  const port = await freePort()
  const options = `-D ${data} -p ${port} -k ${dir} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=200`
  const script = `${join(programs, 'postgres')} ${options} >&2 & server=$!; read -r _; kill -QUIT $server; wait $server; rm -rf ${dir}`
  const child = spawn('sh', ['-c', script], {
    ...account,
    cwd: dir,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  ;(child.stdin as unknown as { unref?(): void }).unref?.()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (await answers(url)) return url
    await sleep(100)
  }
  await rm(dir, { recursive: true, force: true })
  throw new Error('the PostgreSQL server of the tests does not answer')
}

/** Folder of the newest installed server, which Debian keeps out of the PATH; null: none is installed. */
export function programFolder(): string | null {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ]
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb'))) ?? null
}

/** An account for the server, which refuses to run as root; null: that of the tests. */
export function accountOfServer(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const entry = ['postgres', 'nobody'].map((name) => lines.find((line) => line.startsWith(`${name}:`))).find(Boolean)
  if (entry === undefined)
    throw new Error('tests of the PostgreSQL store need an account other than root, such as nobody')
  const [, , uid, gid] = entry.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}
