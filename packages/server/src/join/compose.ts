/** Opens the parts of a server in order and joins them; what joins rooms to one another stands in files beside this one. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openAutomation } from './automation.ts'
import type { Config } from '../config/index.ts'
import { joinEdge } from './edge.ts'
import { firstKeyOf } from './first-start.ts'
import { openFolders } from './folders.ts'
import { joinHeart } from './heart.ts'
import { openKnownSecrets, secretsOf } from './known-secrets.ts'
import { openTransport } from '../llm/index.ts'
import { joinMachine } from './machine.ts'
import { joinMcp } from './mcp.ts'
import { openLog } from '../observability/index.ts'
import { openCipher } from '../secrets/index.ts'
import {
  openCommandSecrets,
  openFindLlm,
  openIdentities,
  openNamedSecrets,
  openUserSettings,
} from '../settings/index.ts'
import { joinSecrets } from './steering.ts'
import { openSqlite, type Storage } from '../storage/index.ts'
import { openWebhooks } from '../webhooks/index.ts'
import { lookAtIsolation, openEveryWorkspace, openLocalWorkspaces } from '../workspace/index.ts'

export type Server = AsyncDisposable & {
  /** Where it listens, without a trailing slash. */
  url: string
  /** The key that this start made; null when there was one already. Shown once, never again. */
  firstKey: string | null
}

/** Where a test may put itself between two rooms. */
export type Joints = { wrapStorage?: (storage: Storage) => Storage }

/**
 * Starts a server and takes over what an earlier one left running. Resolves when it answers requests.
 * @throws the system's error when it cannot listen; ParleyError when the data directory cannot be used.
 */
export async function startServer(
  config: Config,
  { wrapStorage = (storage) => storage }: Joints = {},
): Promise<Server> {
  const known = openKnownSecrets(secretsOf(config))
  const log = openLog(config.logLevel, known.hide)
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  await using opened = new AsyncDisposableStack()

  const path = config.ephemeral ? ':memory:' : join(config.dataDir, 'parley.db')
  const storage = wrapStorage(opened.use(await openSqlite({ path })))
  const foldersDir = opened.use(await openFolders(config)).path
  const cipher = known.watch(
    await openCipher({
      ...(config.secretKey === null ? {} : { keyText: config.secretKey }),
      keyFile: join(config.dataDir, 'secret-key'),
    }),
  )
  const identities = openIdentities(storage.keys, config.sessionApiKeys, () => new Date())
  const firstKey = await firstKeyOf(config, identities)
  const isolation = await lookAtIsolation(config.sandbox)
  const { sandbox } = config
  if (isolation.level === 'none' && sandbox.mode !== 'off')
    log.warn({ sandbox: sandbox.mode, reason: isolation.reason }, 'no sandbox for commands')
  const workspaces = opened.use(
    openEveryWorkspace({
      local: openLocalWorkspaces({ dataDir: config.dataDir, orphanExitMs: config.runner.orphanExitMs, sandbox, log }),
      dataDir: config.dataDir,
      log,
    }),
  )
  const secrets = openNamedSecrets(storage.secrets, cipher)
  const findLlm = openFindLlm(storage.documents, cipher)
  const settings = openUserSettings(storage.settings, secrets, cipher, findLlm)
  const commandSecrets = openCommandSecrets({ secrets, settings, cipher, log })
  const transport = openTransport()
  opened.defer(() => transport[Symbol.dispose]())
  const now = () => new Date()
  // Before anything is committed, and closed after the last commit.
  opened.use(await openWebhooks({ targets: config.webhooks, outbox: storage.outbox, now, log }))
  const automation = opened.use(openAutomation(config, storage, log))
  const ownSecrets = joinSecrets({ config, cipher, commandSecrets, log })
  const mcp = opened.use(joinMcp({ workspaces, config, log }))
  const shared = { config, storage, cipher, settings, findLlm, ownSecrets, isolation, log }
  const heart = joinHeart({
    ...shared,
    foldersDir,
    workspaces,
    transport,
    mcp,
    commandSecrets,
    ...automation.runs,
  })
  opened.defer(() => heart.close())
  const hide = async (user: string, text: string) => (await commandSecrets.masker(user)).text(text)
  const own = { config, storage, cipher, identities, settings, workspaces, transport, conversations: heart, hide, log }
  const machine = opened.use(joinMachine(own))
  const app = joinEdge({ ...shared, heart, identities, secrets, machine })
  opened.defer(() => app.close())

  const { host, port } = await app.listen({ host: config.host, port: config.port })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  ownSecrets.listensAt(url)
  const notice = join(config.dataDir, 'server.json')
  await writeFile(notice, JSON.stringify({ url, pid: process.pid }), { mode: 0o600 })
  opened.defer(() => rm(notice, { force: true }))
  machine.recover().catch((error: unknown) => log.error({ err: error }, 'taking over running commands failed'))
  automation.recover().catch((error: unknown) => log.error({ err: error }, 'taking up completion callbacks failed'))
  heart.recover().catch((error: unknown) => log.error({ err: error }, 'taking over running conversations failed'))

  const open = opened.move()
  return { url, firstKey, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
