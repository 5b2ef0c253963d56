/** A PostgreSQL server of its own for a fleet, with a synchronous standby: it can be crashed, stopped, and replaced by its standby. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { accountOfServer, programFolder } from './postgres-server.ts'
import { until } from './until.ts'

const DATABASE = 'fleet'
const STANDBY = 'standby'
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  max_wal_senders: '8',
  wal_keep_size: '256MB',
}

export interface FleetStore extends AsyncDisposable {
  /** Address of the database on the server that is the primary now. */
  readonly url: string
  /** Process of the primary's shell, whose descendants do its work. */
  readonly pid: number
  /** Runs a statement on a connection of its own. */
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]>
  /** Stops the server without any of the work of an orderly stop. */
  crash(): Promise<void>
  /** Starts the server again. Resolves when it answers. */
  start(): Promise<void>
  /** Adds a synchronous standby, unless there is one. Resolves when commits wait for it. */
  addStandby(): Promise<void>
  /** Crashes the primary and makes the standby the primary. Resolves when it accepts changes. `addStandby` makes another standby. */
  promote(): Promise<void>
}

/**
 * Starts an empty server. `isDurable` false: faster, and a crash of its processes loses nothing, but a crash of the machine does.
 * @throws Error when PostgreSQL is not installed
 */
export async function startFleetStore({ isDurable = false } = {}): Promise<FleetStore> {
  const programs = programFolder()
  if (programs === null) throw new Error('a fleet needs an installed PostgreSQL server, 14 or later')
  const account = accountOfServer()
  const folder = await mkdtemp(join(account === null ? tmpdir() : '/tmp', 'parley-fleet-'))
  if (account !== null) await chown(folder, account.uid, account.gid)
  const tools: Tools = { programs, folder, account, isDurable }
  let primary = await Instance.initialised(tools)
  let standby: Instance | null = null
  let made = 1
  await primary.start()
  await ask(primary.address('postgres'), `CREATE DATABASE ${DATABASE}`)
  const store: FleetStore = {
    get url() {
      return primary.address(DATABASE)
    },
    get pid() {
      return primary.pid
    },
    query: (text, ...values) => ask(primary.address(DATABASE), text, values),
    crash: () => primary.crash(),
    start: () => primary.start(),
    async addStandby() {
      if (standby !== null) return
      made += 1
      standby = await primary.copied(`data-${made}`)
      await standby.start()
      await primary.waitFor(`application_name = '${STANDBY}' AND state = 'streaming'`)
      await ask(primary.address('postgres'), `ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`)
      await ask(primary.address('postgres'), 'SELECT pg_reload_conf()')
      await primary.waitFor(`sync_state = 'sync'`)
    },
    async promote() {
      if (standby === null) throw new Error('there is no standby to promote')
      const before = primary
      await before.crash()
      await standby.promote()
      primary = standby
      standby = null
      await before.remove()
    },
    async [Symbol.asyncDispose]() {
      await standby?.crash()
      await primary.crash()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  return store
}

type Tools = {
  programs: string
  folder: string
  account: { uid: number; gid: number } | null
  isDurable: boolean
}

/** One data directory with its server process. */
class Instance {
  readonly #tools: Tools
  readonly #data: string
  readonly #port: number
  #server: ChildProcess | null = null

  private constructor(tools: Tools, data: string, port: number) {
    this.#tools = tools
    this.#data = data
    this.#port = port
  }

  static async initialised(tools: Tools): Promise<Instance> {
    const instance = new Instance(tools, join(tools.folder, 'data-1'), await freePort())
    await instance.#run(
      'initdb',
      '-D',
      instance.#data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '-N',
    )
    return instance
  }

  get pid(): number {
    return this.#server!.pid!
  }

  address(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/${database}`
  }

  /** A standby of this server, which is not started yet. */
  async copied(name: string): Promise<Instance> {
    const copy = new Instance(this.#tools, join(this.#tools.folder, name), await freePort())
    const from = `host=127.0.0.1 port=${this.#port} user=postgres application_name=${STANDBY}`
    await this.#run('pg_basebackup', '-D', copy.#data, '-d', from, '-R', '-X', 'stream', '-c', 'fast', '--no-sync')
    return copy
  }

  /** Its shell ends it with this process, also with one that is killed, because it reads the end of a pipe. */
  async start(): Promise<void> {
    const { programs, folder, isDurable } = this.#tools
    const all = { ...SETTINGS, fsync: isDurable ? 'on' : 'off' }
    const settings = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`)
    const command = `${join(programs, 'postgres')} -D ${this.#data} -p ${this.#port} -k ${folder} ${settings.join(' ')}`
    // A shell gives what it runs in the background an empty input of its own.
    const script = `exec 3<&0; ${command} & server=$!; (read -r _ <&3; kill -QUIT $server) & wait $server`
    this.#server = this.#spawn('sh', ['-c', script])
    await until(() => this.#answers(), 60_000)
  }

  async crash(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    const ended = once(server, 'exit')
    await this.#run('pg_ctl', 'stop', '-D', this.#data, '-m', 'immediate')
    server.stdin?.end()
    await ended
  }

  async promote(): Promise<void> {
    await ask(this.address('postgres'), 'SELECT pg_promote(false)')
    const isDone = `SELECT 1 WHERE NOT pg_is_in_recovery()`
    await until(async () => (await ask(this.address('postgres'), isDone)).length > 0, 120_000)
    // It has no standby yet, and a commit would wait for one for ever.
    await ask(this.address('postgres'), `ALTER SYSTEM SET synchronous_standby_names = ''`)
    await ask(this.address('postgres'), 'SELECT pg_reload_conf()')
  }

  async remove(): Promise<void> {
    await rm(this.#data, { recursive: true, force: true, maxRetries: 3 })
  }

  /** Waits for a standby. */
  waitFor(condition: string): Promise<void> {
    const text = `SELECT 1 FROM pg_stat_replication WHERE ${condition}`
    return until(async () => (await ask(this.address('postgres'), text)).length > 0, 60_000)
  }

  #answers(): Promise<boolean> {
    return ask(this.address('postgres'), 'SELECT 1').then(
      () => true,
      () => false,
    )
  }

  #spawn(program: string, args: readonly string[]): ChildProcess {
    const { account, folder } = this.#tools
    return spawn(program, args, { ...account, cwd: folder, stdio: ['pipe', 'ignore', 'ignore'] })
  }

  async #run(program: string, ...args: string[]): Promise<void> {
    const child = this.#spawn(join(this.#tools.programs, program), args)
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`${program} ended with ${code}`)
  }
}

async function ask<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await (values.length === 0 ? client.query(text) : client.query(text, values))).rows as Row[]
  } finally {
    await client.end().catch(() => undefined)
  }
}
