/** Wraps programs into bubblewrap; every process that the runner starts passes through here. Source: decisions.md, Sandbox. */
import { execFile } from 'node:child_process'
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ownedFolder, refusedPlace, type RefusedPlace } from '../../roots/host-places.ts'
import { hasHome, type Account } from '../../account/account.ts'
import { letRead } from '../../account/folders.ts'
import { idsOf } from '../as-account.ts'
import type { NotStarted, Program } from '../program.ts'
import type { Place } from '../ipc/place.ts'
import { Refusal, type Box } from '../ipc/protocol.ts'
import { NO_GROUP, type ProcessGroup } from '../groups/process-groups.ts'
import { EgressProxy } from './egress-proxy.ts'
import { prepareHome, gitIdentity, type GitIdentity } from './home.ts'
import { limitsOf } from './limits.ts'
import { INSIDE, isVisible, mountArguments, sharesTmp, type View } from './mounts.ts'
import { findInPath, findProgram, insideEnvironment } from './programs.ts'
import { ProtectedProcesses } from './protected.ts'
import { realOf } from './real.ts'
import { scopeProgram } from './scope.ts'
import { seccompFilter } from './seccomp.ts'
import { mountedSettings, copyOfEtc } from './system.ts'
import { boxFoldersOf, hostPlaces, linksInHome, REMEMBER_MS, removeBox, viewOf } from './view.ts'

const PROBE_MS = 5_000
/** What a sandbox would show with a working directory. */
const EXPOSED: Readonly<Record<RefusedPlace, string>> = {
  data: 'it is in the data directory',
  above_data: 'it contains the data directory',
  home: 'it is the home of this account, or contains it',
  credentials: 'it is in a folder for credentials',
  above_credentials: 'it contains a folder for credentials',
  process: 'it describes processes',
}
/** Its own user namespace, and no further ones, so that no process inside can gain a capability. It ends with the runner. */
const NAMESPACES = (
  '--die-with-parent --unshare-user --disable-userns --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try ' +
  '--cap-drop ALL'
).split(' ')

/**
 * Opens the filter of system calls for bubblewrap. Where memory ends, the kernel ends programs of a sandbox before the server.
 * `$0` is the file of the filter.
 */
const START = '{ echo 600 >/proc/self/oom_score_adj; } 2>/dev/null; exec 9<"$0"; exec "$@"'
const FILTERED = ['--seccomp', '9']

/** For programs of the server. */
const NOT_PROTECTED = { places: [], leave: () => undefined }

/** Absolute path of a working bubblewrap, or the reason why there is none, and what the operator can do. */
export type Bubblewrap = { path: string } | { reason: string; remedy: string }

/** Source: docs/security.md, The sandbox; docs/deployment.md, The sandbox in a container. */
const REMEDIES = {
  system: 'run Parley on Linux, or as another account without valuable files',
  install: 'install bubblewrap 0.8 or later',
  allow: 'allow user namespaces (docs/security.md, The sandbox)',
  container:
    'this is a container: start it with security options that allow user namespaces and an unmasked /proc, as compose.yaml ' +
    'does (docs/deployment.md, The sandbox in a container)',
}

/** True in a container: its engine leaves a file, or a variable by the convention of systemd. */
const isContainer = (): boolean =>
  process.env['container'] !== undefined || ['/.dockerenv', '/run/.containerenv'].some((file) => existsSync(file))

/**
 * Tests bubblewrap with the options that are used later. Takes about 20 ms, so callers keep the result.
 * @param account the account that it is to work for; null: that of this process
 */
export async function findBubblewrap(
  path = process.env['PATH'] ?? '',
  account: Account | null = null,
): Promise<Bubblewrap> {
  if (process.platform !== 'linux') return { reason: 'bubblewrap runs on Linux only', remedy: REMEDIES.system }
  const found = findInPath('bwrap', path)
  if (found === null) return { reason: 'bubblewrap is not installed', remedy: REMEDIES.install }
  const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/run', '--tmpfs', '/tmp']
  try {
    const args = [...NAMESPACES, '--unshare-net', ...mounts, '--chdir', '/', '--', '/bin/sh', '-c', ':']
    await promisify(execFile)(found, args, { cwd: '/', env: {}, timeout: PROBE_MS, ...idsOf(account) })
    return { path: found }
  } catch (error) {
    const [line] = (error as Error & { stderr?: string }).stderr?.trim().split('\n') ?? []
    const remedy = isContainer() ? REMEDIES.container : REMEDIES.allow
    return { reason: `bubblewrap does not work here: ${line || (error as Error).message}`, remedy }
  }
}

export class Sandbox {
  readonly #home: string
  readonly #account: Account | null
  readonly #egress: EgressProxy
  readonly #workspaces = new Map<string, string>()
  /** Conversations whose home was prepared by this process. */
  readonly #prepared = new Map<string, Promise<void>>()
  readonly #running = new ProtectedProcesses()
  /** File with the filter of system calls; undefined: not written yet. */
  #filter: string | null | undefined
  #scope: string | null | undefined
  #bubblewrap: Promise<Bubblewrap> | null = null
  #etc: { path: string; until: number } | null = null
  #identity: Promise<GitIdentity> | null = null

  /** @param account the account that programs are started as; null: that of this process */
  constructor({ home, proxies }: Pick<Place, 'home' | 'proxies'>, account: Account | null) {
    this.#home = home
    this.#account = account
    this.#egress = new EgressProxy({ home, proxies }, account)
  }

  /**
   * Returns the program to start: wrapped into a sandbox, or unchanged when no sandbox is requested or an optional one is not available.
   * @throws Refusal `unavailable` when a required sandbox is not available.
   */
  async wrap(
    conversation: string,
    program: Program,
    box: Box | null,
    { shell = null, group = NO_GROUP }: { shell?: string | null; group?: ProcessGroup } = {},
  ): Promise<Program | NotStarted> {
    if (box === null) return this.#plain(conversation, program)
    this.#bubblewrap ??= findBubblewrap(process.env['PATH'], this.#account)
    const bubblewrap = await this.#bubblewrap
    if ('reason' in bubblewrap) {
      if (!box.isRequired) return this.#plain(conversation, program)
      throw new Refusal('unavailable', `no process is started without a sandbox, and ${bubblewrap.reason}`)
    }
    const view = this.#view(conversation, box)
    const cwd = realOf(program.cwd)
    if (cwd === null) return { exit_code: 127, reason: `the working directory ${program.cwd} does not exist` }
    const isThere = isVisible(view, cwd) || (sharesTmp(view) && cwd === '/tmp')
    if (!isThere) return { exit_code: 127, reason: `the working directory ${program.cwd} is outside the sandbox` }
    const [name = '', ...args] = program.argv
    if (name === '') return { exit_code: 127, reason: 'no program was named' }
    const found = findProgram(view, name, cwd, program.env['PATH'] ?? '')
    if ('reason' in found) return found
    await this.#prepare(conversation, box, view)
    const route = typeof box.network === 'boolean' ? null : await this.#egress.to(box.network)
    const network = box.network === true ? [] : ['--unshare-net']
    const etc = this.#copyOfEtc()
    // Without the network of the machine, there are no abstract sockets of others.
    const scope = box.network === true ? this.#scopeFile() : null
    // From here on, nothing waits: no process can be started between the choice of the places and its record.
    const { places, leave } = box.isOwn === true ? NOT_PROTECTED : this.#running.enter(box)
    const mounts = mountArguments(view, {
      etc,
      node: process.execPath,
      shell,
      files: [
        ...mountedSettings(),
        ...setupFile(box),
        ...(route?.mounts ?? []),
        ...(scope === null ? [] : [[scope, INSIDE.scope] as const]),
      ],
      protectedPlaces: places,
    })
    const limits = limitsOf(box, group, this.#account)
    const inner = [...limits.inside, ...(route?.argv ?? []), found.name, ...args]
    const start = ['--chdir', cwd, '--', ...(scope === null ? inner : scoped(inner, found.path))]
    const filter = this.#filterFile()
    const confined = [bubblewrap.path, ...(filter === null ? [] : FILTERED), ...NAMESPACES, ...network, ...mounts]
    return {
      argv: ['/bin/sh', '-c', limits.outside + START, filter ?? '/dev/null', ...confined, ...start],
      cwd: '/',
      env: { ...insideEnvironment(view, program.env), ...route?.env },
      isInside: true,
      onEnd: leave,
    }
  }

  /** A program without a sandbox. Where its account has no home, that is the home of the conversation. */
  #plain(conversation: string, program: Program): Program {
    const account = this.#account
    if (account === null || program.env['HOME'] !== account.home || hasHome(account)) return program
    const { home } = boxFoldersOf({ home: this.#home, account }, conversation)
    return { ...program, env: { ...program.env, HOME: home } }
  }

  #view(conversation: string, box: Box): View {
    const { workspace: given } = box
    const workspace = realOf(given) ?? given
    // The server has decided about a real path; a link that has replaced it since leads elsewhere.
    if (workspace !== given) throw new Refusal('unavailable', `the working directory ${given} was moved or replaced`)
    const places = hostPlaces(this.#home, this.#account)
    const why = refusedPlace(places, workspace)
    if (why !== null && !(why === 'data' && ownedFolder(places, workspace) !== null))
      throw new Refusal('unavailable', `the working directory ${workspace} is not shown in a sandbox: ${EXPOSED[why]}`)
    // Commands that a user runs outside of conversations own no folder.
    if (!conversation.startsWith('host-')) this.#workspaces.set(conversation, workspace)
    return viewOf({ home: this.#home, account: this.#account }, conversation, box, this.#workspaces.values())
  }

  #filterFile(): string | null {
    if (this.#filter !== undefined) return this.#filter
    const filter = seccompFilter()
    const file = join(this.#home, 'calls.bpf')
    if (filter !== null) {
      writeFileSync(file, filter, { mode: 0o600 })
      letRead(file, this.#account)
    }
    return (this.#filter = filter === null ? null : file)
  }

  #scopeFile(): string | null {
    if (this.#scope !== undefined) return this.#scope
    const program = scopeProgram()
    const file = join(this.#home, 'scope')
    // A program that is running cannot be written.
    if (program !== null) {
      writeFileSync(`${file}-${process.pid}`, program, { mode: 0o700 })
      letRead(`${file}-${process.pid}`, this.#account, { isProgram: true })
      renameSync(`${file}-${process.pid}`, file)
    }
    return (this.#scope = program === null ? null : file)
  }

  #copyOfEtc(): string {
    const now = performance.now()
    if (this.#etc === null || now >= this.#etc.until)
      this.#etc = { path: copyOfEtc(this.#home, this.#account, INSIDE.home), until: now + REMEMBER_MS }
    return this.#etc.path
  }

  #prepare(conversation: string, box: Box, { folders }: View): Promise<void> {
    const known = this.#prepared.get(conversation)
    if (known !== undefined) return known
    const prepare = async () => {
      const identity = await (this.#identity ??= gitIdentity(this.#account))
      const home = realOf(folders.home) ?? folders.home
      await prepareHome(home, linksInHome({ home: this.#home, account: this.#account }, box), identity, this.#account)
    }
    const prepared = prepare()
    this.#prepared.set(conversation, prepared)
    return prepared
  }

  /** Removes the files that the conversation's processes left outside its workspace. */
  async forget(conversation: string): Promise<void> {
    this.#workspaces.delete(conversation)
    this.#prepared.delete(conversation)
    await removeBox(this.#home, conversation)
  }
}

function setupFile({ setup }: Box): (readonly [from: string, to: string])[] {
  const real = setup === undefined ? null : realOf(setup)
  return real === null ? [] : [[real, INSIDE.setup]]
}

/** Arguments that start a program behind the one that hides abstract sockets, which needs its path. */
function scoped(inner: readonly string[], path: string | undefined): string[] {
  const [name = '', ...args] = inner
  if (name.includes('/')) return [INSIDE.scope, name, name, ...args]
  if (path !== undefined) return [INSIDE.scope, path, name, ...args]
  // `env` searches as the shell does.
  return [INSIDE.scope, '/usr/bin/env', 'env', name, ...args]
}
