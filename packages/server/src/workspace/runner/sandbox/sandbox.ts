/** Wraps programs into bubblewrap; every process that the runner starts passes through here. Source: decisions.md, Sandbox. */
import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { ownedFolder, refusedPlace, type RefusedPlace } from '../../roots/host-places.ts'
import { isExecutable } from '../executable.ts'
import { Refusal, type Box } from '../ipc/protocol.ts'
import { INSIDE, isVisible, mountArguments, sharesTmp, type View } from './mounts.ts'
import { realHomes, realOf, removeBox, viewOf } from './view.ts'
import { EgressProxy } from './egress-proxy.ts'

export type Program = { argv: readonly string[]; cwd: string; env: Record<string, string> }
export type NotStarted = { exit_code: 126 | 127; reason: string }

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
/** Its own user namespace, and no further ones, so that no process inside can gain a capability. */
const NAMESPACES =
  '--unshare-user --disable-userns --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL'.split(
    ' ',
  )

/** Absolute path of a working bubblewrap, or the reason why there is none. */
export type Bubblewrap = { path: string } | { reason: string }

/** Tests bubblewrap with the options that are used later. Takes about 20 ms, so callers keep the result. */
export async function findBubblewrap(path = process.env['PATH'] ?? ''): Promise<Bubblewrap> {
  if (process.platform !== 'linux') return { reason: 'bubblewrap runs on Linux only' }
  const found = findInPath('bwrap', path)
  if (found === null) return { reason: 'bubblewrap is not installed' }
  const mounts = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/run', '--tmpfs', '/tmp']
  try {
    const args = [...NAMESPACES, '--unshare-net', ...mounts, '--chdir', '/', '--', '/bin/sh', '-c', ':']
    await promisify(execFile)(found, args, { cwd: '/', env: {}, timeout: PROBE_MS })
    return { path: found }
  } catch (error) {
    const [line] = (error as Error & { stderr?: string }).stderr?.trim().split('\n') ?? []
    return { reason: `bubblewrap does not work here: ${line || (error as Error).message}` }
  }
}

export class Sandbox {
  readonly #home: string
  readonly #egress: EgressProxy
  readonly #workspaces = new Map<string, string>()
  #bubblewrap: Promise<Bubblewrap> | null = null

  /** @param home the runner's folder in the data directory, @param sockets its folder for sockets */
  constructor(home: string, sockets: string) {
    this.#home = home
    this.#egress = new EgressProxy(home, sockets)
  }

  /**
   * Returns the program to start: wrapped into a sandbox, or unchanged when no sandbox is requested or an optional one is not available.
   * @throws Refusal `unavailable` when a required sandbox is not available.
   */
  async wrap(
    conversation: string,
    program: Program,
    box: Box | null,
    shell: string | null = null,
  ): Promise<Program | NotStarted> {
    if (box === null) return program
    this.#bubblewrap ??= findBubblewrap()
    const bubblewrap = await this.#bubblewrap
    if ('reason' in bubblewrap) {
      if (!box.isRequired) return program
      throw new Refusal('unavailable', `no process is started without a sandbox, and ${bubblewrap.reason}`)
    }
    const view = this.#view(conversation, box)
    const cwd = realOf(program.cwd)
    if (cwd === null) return { exit_code: 127, reason: `the working directory ${program.cwd} does not exist` }
    const isThere = isVisible(view, cwd) || (sharesTmp(view) && cwd === '/tmp')
    if (!isThere) return { exit_code: 127, reason: `the working directory ${program.cwd} is outside the sandbox` }
    const [name = '', ...args] = program.argv
    if (name === '') return { exit_code: 127, reason: 'no program was named' }
    const file = findProgram(view, name, cwd, program.env['PATH'] ?? '')
    if (file === null) return { exit_code: 127, reason: `${name}: command not found` }
    if (!isExecutable(file)) return { exit_code: 126, reason: `${name}: permission denied` }
    const route = typeof box.network === 'boolean' ? null : await this.#egress.to(box.network)
    const network = box.network === true ? [] : ['--unshare-net']
    const mounts = mountArguments(view, shell, realOf('/etc/resolv.conf'), route?.mounts)
    const start = ['--chdir', cwd, '--', ...(route?.argv ?? []), name, ...args]
    return {
      argv: [bubblewrap.path, ...NAMESPACES, ...network, ...mounts, ...start],
      cwd: '/',
      env: { ...boxEnvironment(view, program.env), ...route?.env },
    }
  }

  #view(conversation: string, { workspace: given, folder }: Box): View {
    const workspace = realOf(given) ?? given
    // The server has decided about a real path; a link that has replaced it since leads elsewhere.
    if (workspace !== given) throw new Refusal('unavailable', `the working directory ${given} was moved or replaced`)
    const places = { dataDir: dirname(realOf(this.#home) ?? this.#home), homes: realHomes() }
    const why = refusedPlace(places, workspace)
    if (why !== null && !(why === 'data' && ownedFolder(places, workspace) !== null))
      throw new Refusal('unavailable', `the working directory ${workspace} is not shown in a sandbox: ${EXPOSED[why]}`)
    // Commands that a user runs outside of conversations own no folder.
    if (!conversation.startsWith('host-')) this.#workspaces.set(conversation, workspace)
    const view = viewOf(this.#home, conversation, workspace, this.#workspaces.values())
    return folder === undefined ? view : { ...view, folder: realOf(folder) ?? folder }
  }

  /** Removes the files that the conversation's processes left outside its workspace. */
  async forget(conversation: string): Promise<void> {
    this.#workspaces.delete(conversation)
    await removeBox(this.#home, conversation)
  }
}

/** Environment in which HOME and TMPDIR name folders that exist inside. */
function boxEnvironment(view: View, env: Record<string, string>): Record<string, string> {
  const isOwnHome = env['HOME'] === undefined || env['HOME'] === homedir()
  const inside: Record<string, string> = { ...env, ...(isOwnHome && { HOME: INSIDE.home }) }
  delete inside['TMPDIR']
  return sharesTmp(view) ? inside : { ...inside, TMPDIR: INSIDE.tmp }
}

/** Searches for a program as it is visible inside, because bubblewrap reports a missing program only as a failure of its own. */
function findProgram(view: View, name: string, cwd: string, path: string): string | null {
  if (name.includes('/')) {
    const file = realOf(isAbsolute(name) ? name : resolve(cwd, name))
    return file !== null && isVisible(view, file) ? file : null
  }
  const folders = path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && isVisible(view, realOf(folder) ?? folder))
  return findInPath(name, folders.join(delimiter))
}

function findInPath(name: string, path: string): string | null {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name)
    if (!isAbsolute(folder)) continue
    if (isExecutable(file)) return file
  }
  return null
}
