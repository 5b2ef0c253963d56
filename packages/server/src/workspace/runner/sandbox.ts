/** Runs a program inside bubblewrap where that is wanted; every process of the runner passes here. Source: design.md 5, Sandbox. */
import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { isExecutable } from './executable.ts'
import { Refusal, type Box } from './protocol.ts'
import { INSIDE, isInside, isVisible, mountArguments, sharesTmp, type View } from './sandbox-mounts.ts'
import { privatePlaces, realOf, removeBox, viewOf } from './sandbox-view.ts'
import { WaysOut } from './way-out.ts'

export type Program = { argv: readonly string[]; cwd: string; env: Record<string, string> }
export type NotStarted = { exit_code: 126 | 127; reason: string }

const PROBE_MS = 5_000
/** A user namespace of its own and no further ones, so that no capability can be had inside. */
const NAMESPACES =
  '--unshare-user --disable-userns --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL'.split(
    ' ',
  )

/** Absolute path of a bubblewrap that works here, or why there is none. */
export type Bubblewrap = { path: string } | { reason: string }

/** Tries it with what will be asked of it. Takes some 20 ms; ask once and remember. */
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
  readonly #waysOut: WaysOut
  readonly #workspaces = new Map<string, string>()
  #bubblewrap: Promise<Bubblewrap> | null = null

  /** @param home the runner's folder in the data directory, @param sockets its folder for sockets */
  constructor(home: string, sockets: string) {
    this.#home = home
    this.#waysOut = new WaysOut(home, sockets)
  }

  /**
   * The program as it is to be started: inside a sandbox, or as it is where none is asked for or `auto` finds none.
   * @throws Refusal `unavailable` where one is required and cannot be had.
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
    const way = typeof box.network === 'boolean' ? null : await this.#waysOut.to(box.network)
    const network = box.network === true ? [] : ['--unshare-net']
    const mounts = mountArguments(view, shell, realOf('/etc/resolv.conf'), way?.mounts)
    const start = ['--chdir', cwd, '--', ...(way?.argv ?? []), name, ...args]
    return {
      argv: [bubblewrap.path, ...NAMESPACES, ...network, ...mounts, ...start],
      cwd: '/',
      env: { ...boxEnvironment(view, program.env), ...way?.env },
    }
  }

  #view(conversation: string, { workspace: given, isRequired }: Box): View {
    const workspace = realOf(given) ?? given
    const own = privatePlaces(this.#home)
    const exposed = own.find(
      (place) => place !== workspace && isInside(workspace, place) && isInside(place, this.#home),
    )
    if (isRequired && (exposed !== undefined || isInside(workspace, this.#home))) {
      throw new Refusal(
        'unavailable',
        `the working directory ${workspace} holds the data directory, which a sandbox must hide`,
      )
    }
    // Commands that a user runs outside of conversations own no folder.
    if (!conversation.startsWith('host-')) this.#workspaces.set(conversation, workspace)
    return viewOf(this.#home, conversation, workspace, this.#workspaces.values())
  }

  /** Removes what the conversation's processes left outside its workspace. */
  async forget(conversation: string): Promise<void> {
    this.#workspaces.delete(conversation)
    await removeBox(this.#home, conversation)
  }
}

/** A home and a folder for temporary files that exist inside. */
function boxEnvironment(view: View, env: Record<string, string>): Record<string, string> {
  const isOwnHome = env['HOME'] === undefined || env['HOME'] === homedir()
  const inside: Record<string, string> = { ...env, ...(isOwnHome && { HOME: INSIDE.home }) }
  delete inside['TMPDIR']
  return sharesTmp(view) ? inside : { ...inside, TMPDIR: INSIDE.tmp }
}

/** Found as it will be found inside, because bubblewrap reports a missing program only as a failure of its own. */
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
