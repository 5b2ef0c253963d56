/**
 * The file system that a sandboxed process sees, as a list of mounts.
 *
 * Invariants
 *   M1. Everything is read-only, except the workspace and the conversation's own home and folder for temporary files.
 *   M2. The data directory, the user's home, /run with the sockets of this machine's services, folders for temporary files
 *       and workspaces of other conversations are hidden.
 *   M3. No mount point is in a folder that a sandboxed process can write, because a symlink there could redirect the mount. The
 *       only exception are hidden places inside the workspace itself.
 */
import { dirname } from 'node:path'
import { isInside } from '../../../lib/index.ts'

/** Folders of one conversation on the real disk. */
export type BoxFolders = { home: string; tmp: string; kept: string }

/** Paths inside the sandbox. All are in a new /run that no process has written to. */
export const INSIDE = {
  home: '/run/parley/home',
  tmp: '/run/parley/tmp',
  kept: '/run/parley/kept',
  shell: '/run/parley/bash',
}

export type View = {
  /** Real path of the writable folder. */
  workspace: string
  /** Real paths to hide, except a workspace inside them. */
  hidden: readonly string[]
  folders: BoxFolders
  /** Real path of one more writable folder, which this process alone sees. */
  folder?: string
}

const EPHEMERAL = ['/tmp', '/var/tmp', '/run']

/** The hidden places of a view, outermost first. A place inside another hidden one is listed only when the workspace is between them. */
function hiddenPlaces({ workspace, hidden }: View): string[] {
  const places: string[] = []
  const byDepth = [...new Set([...EPHEMERAL, ...hidden])].toSorted((a, b) => a.length - b.length)
  for (const path of byDepth) {
    if (path === '/' || path === workspace) continue
    const above = places.findLast((place) => isInside(place, path))
    const isShownAgain = isInside(workspace, path)
    if (above === undefined || (isShownAgain && isInside(above, workspace))) places.push(path)
  }
  return places
}

/** True when a real path of this machine is visible inside under the same name. */
export function isVisible(view: View, path: string): boolean {
  const hides = hiddenPlaces(view).filter((place) => isInside(place, path))
  return hides.every((place) => isInside(place, view.workspace) && isInside(view.workspace, path))
}

/** True when all processes of a conversation share one /tmp. Another writable folder below /tmp prevents that (M3). */
export const sharesTmp = ({ workspace, folder }: View): boolean =>
  ![workspace, ...(folder === undefined ? [] : [folder])].some((path) => isInside('/tmp', path))

/**
 * Arguments for bubblewrap. `shell`: a pipe that the terminal's shell reads.
 * @param given pairs of a file on this machine and its path in the new /run/parley
 */
export function mountArguments(
  view: View,
  shell: string | null,
  resolver: string | null,
  given: readonly (readonly [from: string, to: string])[] = [],
): string[] {
  const { workspace, folders, folder } = view
  const mounts = hiddenPlaces(view).map((path) => ({ path, args: ['--tmpfs', path] }))
  for (const path of folder === undefined ? [workspace] : [workspace, folder])
    mounts.push({ path, args: ['--bind', path, path] })
  const args = mounts.toSorted((a, b) => a.path.length - b.path.length).flatMap((mount) => mount.args)
  if (sharesTmp(view)) args.push('--bind', folders.tmp, '/tmp')
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
  // Files in a tmpfs take memory and vanish with the process, so hidden places are read-only, except folders for temporary files.
  const isForFiles = (path: string) => path === '/tmp' || path === '/var/tmp'
  const closed = hiddenPlaces(view).filter((path) => !isForFiles(path))
  if (shell !== null) args.push('--ro-bind', shell, INSIDE.shell)
  args.push(...given.flatMap(([from, to]) => ['--ro-bind', from, to]))
  // /etc/resolv.conf often is a symlink into /run.
  if (resolver !== null && isInside('/run', resolver)) args.push('--ro-bind', dirname(resolver), dirname(resolver))
  args.push(...closed.flatMap((path) => ['--remount-ro', path]))
  return ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', ...args]
}
