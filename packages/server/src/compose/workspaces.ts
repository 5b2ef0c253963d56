/** Composes the workspaces, where commands run, and what bounds them: roots, sandbox, limits of users, addresses. */
import { dirname, join } from 'node:path'
import { ConfigError, type Config } from '../config/index.ts'
import type { LiveNodes } from '../coordination/index.ts'
import { openEgress, type Egress } from '../egress/index.ts'
import type { Log } from '../observability/index.ts'
import { openLimits, Quotas } from '../quotas/index.ts'
import type { Cipher } from '../secrets/index.ts'
import type { Storage } from '../storage/index.ts'
import {
  findRefusedToolchain,
  homesOfAccount,
  openCallNotes,
  openConversationFiles,
  openCallProof,
  openEveryWorkspace,
  openLocalWorkspaces,
  openRoots,
  openWorkspaceRemoval,
  prepareDataDir,
  probeIsolation,
  type Account,
  type OpenCallNotes,
  type OpenConversationFiles,
  type Isolation,
  type RootsOf,
  type WorkspaceRemoval,
  type Workspaces,
} from '../workspace/index.ts'
import { closeInTime } from './shutdown.ts'

export type WorkspaceParts = {
  config: Config
  storage: Storage
  nodes: Pick<LiveNodes, 'count'>
  cipher: Cipher
  log: Log
  /** Milliseconds between signs of life of the runner. */
  heartbeatMs: number | undefined
  /** The account that commands run as; null: that of this process. */
  account: Account | null
  /** Holds the folders of conversations. */
  foldersDir: string
  /** True when other nodes may share the store. */
  isShared: boolean
}

export type WorkspacePlaces = {
  quotas: Quotas
  egress: Egress
  isolation: Isolation
  workspaces: Workspaces
  roots: RootsOf
  notes: OpenCallNotes
  files: OpenConversationFiles
  removal: WorkspaceRemoval
}

/** @throws ConfigError for a toolchain that no sandbox may show. */
export async function composeWorkspaces(
  { config, storage, nodes, cipher, log, heartbeatMs, account, foldersDir, isShared }: WorkspaceParts,
  opened: AsyncDisposableStack,
): Promise<WorkspacePlaces> {
  const { dataDir } = config
  await prepare(config, account, foldersDir, log)
  const isolation = await isolationOf(config, account, log)
  const { processes: most, memoryBytes, ...policy } = config.sandbox
  const limits = { processes: most, memoryBytes }
  const sandbox = { ...policy, limits, hidden: config.file === null ? [] : [config.file] }
  expectToolchains(config.sandbox.toolchains, join(dataDir, 'runner'), account)
  const proof = opened.use(await openCallProof({ ...storage, dataDir, log }))
  const roots = openRoots({
    dataDir,
    homes: [config.home, ...homesOfAccount(), ...(account === null ? [] : [account.home])],
    listed: config.workspaceRoots,
    ownerOf: (id) => storage.conversations.ownerOf(id),
    account,
  })
  const quotas = quotasOf(config, storage, nodes)
  const shell = { passed: config.passedVariables, setup: config.shell.setup }
  const { orphanExitMs } = config.runner
  const options = { roots, account, orphanExitMs, heartbeatMs, sandbox, shell, proof, processes: quotas.processes, log }
  const local = openLocalWorkspaces({ dataDir, ...options })
  const notes = openCallNotes({ notes: storage.notes, cipher, proof })
  const files = openConversationFiles({ files: storage.files, cipher, folderOf: (id) => join(foldersDir, id) })
  const egress = opened.use(openEgress(config.userEgress))
  const workspaces = openEveryWorkspace({ local, dataDir, notes, proof, isShared, egress, log })
  opened.defer(() => closeInTime('workspaces', workspaces, log))
  const removal = openWorkspaceRemoval({ store: storage.workspaces, workspaces, dataDir, account, log })
  opened.defer(() => closeInTime('workspace removal', removal, log))
  return { quotas, egress, isolation, workspaces, roots, notes, files, removal }
}

function quotasOf(
  { userLimits, mode, maxConcurrentRuns }: Config,
  { usage }: Storage,
  nodes: Pick<LiveNodes, 'count'>,
): Quotas {
  const isShared = mode === 'shared'
  const limits = openLimits(userLimits, isShared)
  return new Quotas({ limits, maxConcurrentRuns, isShared, usage, nodes: () => nodes.count, now: () => new Date() })
}

/** Ends the processes that run as another account, and gives the files of commands to theirs. */
async function prepare({ dataDir }: Config, account: Account | null, foldersDir: string, log: Log): Promise<void> {
  const { given, linked } = await prepareDataDir(dataDir, account, [dirname(foldersDir), foldersDir])
  if (account !== null && given > 0)
    log.info({ account: account.name, entries: given }, 'workspaces given to the account of commands')
  if (account !== null && linked > 0)
    log.warn(
      { account: account.name, entries: linked },
      'files with several names not given to the account of commands',
    )
}

async function isolationOf({ sandbox }: Config, account: Account | null, log: Log) {
  const isolation = await probeIsolation(sandbox, account)
  const { reason, remedy } = isolation
  if (isolation.level === 'none' && sandbox.mode === 'auto')
    log.warn(
      { sandbox: 'auto', reason, remedy: `${remedy}; PARLEY_SANDBOX=off hides this warning` },
      `commands of agents run without a sandbox, with all rights of ${account === null ? 'this account' : account.name}`,
    )
  if (isolation.level === 'none' && sandbox.mode === 'required')
    log.warn({ sandbox: 'required', reason, remedy }, 'no command of an agent is started, because there is no sandbox')
  return isolation
}

/** @throws ConfigError for a directory that no sandbox may show. */
function expectToolchains(listed: readonly string[], runnerHome: string, account: Account | null): void {
  const refused = findRefusedToolchain(listed, runnerHome, account)
  if (refused === null) return
  throw new ConfigError(`sandbox_toolchains contains ${refused.path}, which no sandbox shows: ${refused.why}`)
}
