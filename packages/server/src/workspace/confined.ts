/**
 * Paths of file operations in a sandboxed conversation. The server executes them outside the sandbox, so this module resolves the
 * path and checks that commands of the conversation could access it too. `files.ts` uses the result without following links again.
 */
import { basename, dirname, join, relative } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { asParleyError } from './file-errors.ts'
import { isInside } from '../lib/index.ts'
import type { Surroundings } from './surroundings.ts'
import { resolveLinks } from './roots/real-path.ts'
import { INSIDE, isVisible, sharesTmp, type View } from './runner/sandbox/mounts.ts'
import { protectedPlaceOf } from './runner/sandbox/protected.ts'

/** Called for every operation, because the workspaces of other conversations change. */
export type Confinement = (around: Surroundings) => View

/**
 * Returns the real path on this machine of a path inside the sandbox.
 * @param isLink do not follow a symlink in the last component
 * @throws ParleyError `forbidden` when commands could not read, or write, it either.
 */
export async function confinedPath(
  view: View,
  path: string,
  { writes = false, isLink = false }: { writes?: boolean; isLink?: boolean } = {},
): Promise<string> {
  const { folders } = view
  const own: [inside: string, outside: string][] = [
    [INSIDE.home, folders.home],
    [INSIDE.tmp, folders.tmp],
    [INSIDE.kept, folders.kept],
  ]
  if (sharesTmp(view)) own.push(['/tmp', folders.tmp])
  const isWorkspace = isInside(view.workspace, path)
  const place = isWorkspace ? undefined : own.find(([inside]) => isInside(inside, path))
  const wanted = place === undefined ? path : join(place[1], relative(place[0], path))
  const target = isLink ? join(await followed(dirname(wanted)), basename(wanted)) : await followed(wanted)
  const ofProcesses = [folders.home, folders.tmp]
  // Hidden places inside the workspace stay hidden.
  const mayWrite =
    ofProcesses.some((root) => isInside(root, target)) || (isInside(view.workspace, target) && isVisible(view, target))
  const mayRead = mayWrite || isInside(folders.kept, target) || isVisible(view, target)
  const guarded = writes ? protectedPlaceOf(view.workspace, target) : null
  if (guarded !== null) throw new ParleyError('forbidden', describeProtected(path, guarded), { details: { path } })
  if (writes ? mayWrite : mayRead && !isDevice(target)) return target
  throw new ParleyError('forbidden', `${path} is outside the sandbox of this conversation`, { details: { path } })
}

const describeProtected = (path: string, place: string): string =>
  `${path} is read-only in a sandbox, because other programs execute what is in ${place}; a person can change it outside`

/** These folders describe the processes of this machine, including the server. */
const isDevice = (path: string): boolean => isInside('/proc', path) || isInside('/dev', path)

/** `path` with all symlinks followed; components that do not exist are kept. */
const followed = (path: string): Promise<string> => asParleyError(path, () => resolveLinks(path))
