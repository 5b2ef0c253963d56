/**
 * What a process in a sandbox sees of this machine, as a list of mounts.
 *
 * Invariants
 *   M1. Everything is read-only, except the workspace, a home and a folder for temporary files of the conversation's own.
 *   M2. Hidden are the data directory, the user's home, /run with the sockets of this machine's services, folders for
 *       temporary files, and workspaces of other conversations.
 *   M3. No mount is placed into a folder that a sandboxed process can write, where a link could lead it elsewhere; the one
 *       exception is what has to be hidden inside the workspace itself.
 */
import { dirname, isAbsolute, relative, sep } from 'node:path'

/** Folders of one conversation on the real disk. */
export type BoxFolders = { home: string; tmp: string; kept: string }

/** What stands where inside. All of it lies in a fresh /run, which nobody has written yet. */
export const INSIDE = {
  home: '/run/parley/home',
  tmp: '/run/parley/tmp',
  kept: '/run/parley/kept',
  shell: '/run/parley/bash',
}

export type View = {
  /** Real path; may be written. */
  workspace: string
  /** Real paths that must not be seen, the workspace inside them excepted. */
  hidden: readonly string[]
  folders: BoxFolders
}

const EPHEMERAL = ['/tmp', '/var/tmp', '/run']

export function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** What is hidden of this view, outermost first; nothing that lies in another hidden place with no workspace between. */
export function hiddenPlaces({ workspace, hidden }: View): string[] {
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

/** Whether a real path of this machine is to be seen inside under the same name. */
export function isVisible(view: View, path: string): boolean {
  const hides = hiddenPlaces(view).filter((place) => isInside(place, path))
  return hides.every((place) => isInside(place, view.workspace) && isInside(view.workspace, path))
}

/** /tmp is shared by all processes of a conversation, unless the workspace has to be mounted into it (M3). */
export const sharesTmp = ({ workspace }: View): boolean => !isInside('/tmp', workspace)

/**
 * Arguments for bubblewrap. `shell`: a pipe that the terminal's shell reads.
 * @param given pairs of a file here and its place in the fresh /run/parley
 */
export function mountArguments(
  view: View,
  shell: string | null,
  resolver: string | null,
  given: readonly (readonly [from: string, to: string])[] = [],
): string[] {
  const { workspace, folders } = view
  const mounts = hiddenPlaces(view).map((path) => ({ path, args: ['--tmpfs', path] }))
  mounts.push({ path: workspace, args: ['--bind', workspace, workspace] })
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
  // What is written into these would be gone with the process, and take memory until then.
  const isForFiles = (path: string) => path === '/tmp' || path === '/var/tmp'
  const closed = hiddenPlaces(view).filter((path) => !isForFiles(path))
  if (shell !== null) args.push('--ro-bind', shell, INSIDE.shell)
  args.push(...given.flatMap(([from, to]) => ['--ro-bind', from, to]))
  // Name resolution often is a link into /run.
  if (resolver !== null && isInside('/run', resolver)) args.push('--ro-bind', dirname(resolver), dirname(resolver))
  args.push(...closed.flatMap((path) => ['--remount-ro', path]))
  return ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', ...args]
}
