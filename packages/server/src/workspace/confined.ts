/**
 * File operations of a sandboxed conversation. The server does them outside of the sandbox, so it asks here where a path leads
 * and whether commands of the conversation could do the same. A path is followed before it is used: a process that swaps a
 * link in between may still lead a file operation elsewhere.
 */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { refusing } from './files.ts'
import { INSIDE, isInside, isVisible, sharesTmp, type View } from './runner/sandbox-mounts.ts'

/** Looked up for every operation, because workspaces of others come and go. */
export type Confinement = () => View

/**
 * The real path on this machine of a path as commands see it.
 * @param isLink what the last name leads to does not count, only the name itself
 * @throws ParleyError `forbidden` where commands could not read or write it either.
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
  const writable = [view.workspace, folders.home, folders.tmp]
  // What is hidden inside the workspace stays hidden there.
  const mayWrite = writable.some(
    (root) => isInside(root, target) && (root !== view.workspace || isVisible(view, target)),
  )
  const mayRead = mayWrite || isInside(folders.kept, target) || isVisible(view, target)
  if (writes ? mayWrite : mayRead && !isDevice(target)) return target
  throw new ParleyError('forbidden', `${path} is outside the sandbox of this conversation`, { details: { path } })
}

/** Processes of this machine are told there, the server's own among them. */
const isDevice = (path: string): boolean => isInside('/proc', path) || isInside('/dev', path)

/** With all links followed, as far as there is anything. */
async function followed(path: string): Promise<string> {
  const real = await refusing(path, () =>
    realpath(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
      throw error
    }),
  )
  if (real !== null || dirname(path) === path) return real ?? path
  return join(await followed(dirname(path)), basename(path))
}
