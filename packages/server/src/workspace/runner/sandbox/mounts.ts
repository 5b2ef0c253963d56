/**
 * The file system that a sandboxed process sees, as a list of mounts.
 *
 * Invariants
 *   M1. Only the workspace, the home of the conversation and its folder for temporary files can be written. The root is read-only, too.
 *   M2. Only what a view shows can be seen: the workspace, programs and settings of the system, and toolchains. Of these, hidden places
 *       are taken away again.
 *   M3. No mount point is in a folder that a sandboxed process can write, because a symlink there could redirect the mount. The
 *       only exceptions are hidden and protected places inside the workspace itself.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isInside } from '../../../lib/index.ts'
import type { ProtectedPlace } from './protected.ts'
import type { Link } from './system.ts'

/** Folders of one conversation on the real disk. */
export type BoxFolders = { home: string; tmp: string; kept: string }

/** Paths inside the sandbox. All are in a new /run that no process has written to. */
export const INSIDE = {
  root: '/run/parley',
  home: '/run/parley/home',
  tmp: '/run/parley/tmp',
  kept: '/run/parley/kept',
  shell: '/run/parley/bash',
  /** The file that sets shells up. */
  setup: '/run/parley/setup',
  /** The program that hides abstract sockets. */
  scope: '/run/parley/scope',
  /** Directory with the Node of the server, the last one in PATH. */
  programs: '/run/parley/bin',
  node: '/run/parley/bin/node',
}

export type View = {
  /** Real path of the writable folder. */
  workspace: string
  /** Real paths to hide, except a workspace inside them. */
  hidden: readonly string[]
  /** Real paths that are shown read-only. */
  shown: readonly string[]
  /** Paths in /etc of which a copy is shown. */
  settings: readonly string[]
  /** Links that are made where this machine has them. */
  links: readonly Link[]
  folders: BoxFolders
  /** Real paths of further writable directories. */
  writable: readonly string[]
}

/** What one start adds to a view. */
export type Additions = {
  /** Folder with the copy of /etc. */
  etc: string
  /** The Node of the server. */
  node: string
  /** A pipe that the terminal's shell reads; null: none. */
  shell: string | null
  /** Pairs of a file on this machine and its path inside, where no sandboxed process can write. */
  files: readonly (readonly [from: string, to: string])[]
  /** Places of the workspace that the process cannot change. */
  protectedPlaces: readonly ProtectedPlace[]
}

/** Where the view is empty unless something is mounted there, for files of one process or of one conversation. */
const TEMPORARY = ['/tmp', '/var/tmp']

/** A place that is shown or hidden. The deepest place that contains a path decides about it. */
type Layer = { path: string; kind: 'workspace' | 'shown' | 'hidden' }

const known = new WeakMap<View, Layer[]>()

/** The places of a view that have an effect, outermost first. A view is not changed after it was made. */
function layersOf(view: View): Layer[] {
  const layers = known.get(view) ?? findLayers(view)
  known.set(view, layers)
  return layers
}

function findLayers({ workspace, hidden, shown, writable }: View): Layer[] {
  const kinds = new Map<string, Layer['kind']>()
  for (const path of shown) kinds.set(path, 'shown')
  for (const path of hidden) kinds.set(path, 'hidden')
  for (const path of [workspace, ...writable]) kinds.set(path, 'workspace')
  const layers: Layer[] = []
  for (const [path, kind] of [...kinds].toSorted(([a], [b]) => a.length - b.length)) {
    const around = layers.findLast((layer) => isInside(layer.path, path))?.kind ?? 'hidden'
    // What a workspace contains stays writable.
    if (kind === around || (kind === 'shown' && around === 'workspace')) continue
    layers.push({ path, kind })
  }
  return layers
}

/** True when a real path of this machine is visible inside under the same name. */
export function isVisible(view: View, path: string): boolean {
  if (path.startsWith('/etc/') && view.settings.some((file) => isInside(file, path))) return true
  const layer = layersOf(view).findLast((one) => isInside(one.path, path))
  return layer !== undefined && layer.kind !== 'hidden'
}

/** True when all processes of a conversation share one /tmp. A place that is shown below /tmp prevents that (M3). */
export function sharesTmp({ workspace, writable, shown, links }: View): boolean {
  const paths = [workspace, ...shown, ...links.map(([path]) => path), ...writable]
  return !paths.some((path) => isInside('/tmp', path))
}

/** Arguments for bubblewrap. */
export function mountArguments(view: View, { etc, node, shell, files, protectedPlaces }: Additions): string[] {
  const { folders, links } = view
  const layers = layersOf(view)
  const mounts = layers.map(({ path, kind }) => ({ path, args: argumentsOf(path, kind) }))
  for (const path of TEMPORARY.filter((one) => one !== view.workspace && !view.writable.includes(one))) {
    const isShared = path === '/tmp' && sharesTmp(view)
    mounts.push({ path, args: isShared ? ['--bind', folders.tmp, path] : ['--tmpfs', path] })
  }
  mounts.push({ path: '/etc', args: ['--ro-bind', etc, '/etc'] })
  for (const { path, isFixed } of protectedPlaces)
    if (isVisible(view, path)) mounts.push({ path, args: [isFixed ? '--bind' : '--ro-bind', path, path] })
  const args = ['--dev', '/dev', '--proc', '/proc']
  args.push(...mounts.toSorted((a, b) => a.path.length - b.path.length).flatMap((mount) => mount.args))
  for (const [path, target] of [...links, ['/var/run', '/run'] as const]) {
    // Where the folder of a link is shown, so is the link.
    if (!layers.some((layer) => layer.kind !== 'hidden' && isInside(layer.path, dirname(path))))
      args.push('--symlink', target, path)
  }
  args.push(
    '--bind',
    folders.home,
    INSIDE.home,
    '--bind',
    folders.tmp,
    INSIDE.tmp,
    '--ro-bind',
    folders.kept,
    INSIDE.kept,
  )
  args.push('--ro-bind', node, INSIDE.node)
  if (shell !== null) args.push('--ro-bind', shell, INSIDE.shell)
  args.push(...files.flatMap(([from, to]) => ['--ro-bind', from, to]))
  // Files in a tmpfs take memory and vanish with the process, so hidden places and the root are read-only.
  const closed = mounts.filter((mount) => mount.args[0] === '--tmpfs' && !TEMPORARY.includes(mount.path))
  return [...args, ...closed.flatMap(({ path }) => ['--remount-ro', path]), '--remount-ro', '/']
}

function argumentsOf(path: string, kind: Layer['kind']): string[] {
  if (kind === 'workspace') return ['--bind', path, path]
  if (kind === 'shown') return ['--ro-bind', path, path]
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return []
  // Inside, this device cannot be opened.
  return found.isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}
