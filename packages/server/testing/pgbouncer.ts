/** A PgBouncer before a database of the tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { accountOfServer } from './postgres-server.ts'
import { until } from './until.ts'

const FOLDERS = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
const PROGRAM = FOLDERS.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path))

/** True where the program is installed. */
export const hasPgbouncer = PROGRAM !== undefined

/** Starts a pooler; the result has the address of the database behind it. */
export async function startPgbouncer(
  database: string,
  mode: 'session' | 'transaction' | 'statement',
): Promise<AsyncDisposable & { url: string }> {
  if (PROGRAM === undefined) throw new Error('this test needs pgbouncer')
  const account = accountOfServer()
  const dir = await mkdtemp('/tmp/parley-pgbouncer-')
  const { hostname, port, pathname, username } = new URL(database)
  const name = pathname.slice(1)
  const own = await freePort()
  await writeFile(join(dir, 'users.txt'), `"${username}" ""\n`)
  await writeFile(
    join(dir, 'pgbouncer.ini'),
    [
      '[databases]',
      `${name} = host=${hostname} port=${port} dbname=${name}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(dir, 'users.txt')}`,
      `pool_mode = ${mode}`,
      'default_pool_size = 20',
    ].join('\n'),
  )
  await chmod(dir, 0o755)
  if (account !== null) await chown(dir, account.uid, account.gid)
  const child = spawn(PROGRAM, [join(dir, 'pgbouncer.ini')], { ...account, cwd: dir, stdio: 'ignore' })
  const url = new URL(database)
  url.port = String(own)
  await until(() => answers(String(url)))
  return {
    url: String(url),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      if (child.exitCode === null) {
        child.kill('SIGKILL')
        await ended
      }
      await rm(dir, { recursive: true, force: true })
    },
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
