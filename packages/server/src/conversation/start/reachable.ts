/** Checks the directories of this machine that a start request names. Source: docs/security.md, Workspace roots. */
import { isAbsolute } from 'node:path'
import { placeOfPlugin } from '../../skills/index.ts'
import type { Roots } from '../../workspace/index.ts'
import type { StartRequest } from '../conversations.ts'

/**
 * Checks what can be known wrong from the request alone. The directories are checked again when they are used, because links may
 * change.
 * @throws RefusedPath naming the member of the body
 */
export async function expectReachable(
  { working_dir, worktree, remote, plugins = [] }: StartRequest,
  roots: Roots,
): Promise<void> {
  // Paths of another machine.
  if (remote !== null && remote !== undefined) return
  const directory = worktree?.source ?? working_dir
  if (directory !== undefined) await roots.directory(directory, ['workspace', 'working_dir'])
  for (const [index, plugin] of plugins.entries()) {
    const place = placeOfPlugin(plugin, ['plugins', index])
    if (place.kind === 'path' && isAbsolute(place.path)) await roots.directory(place.path, ['plugins', index, 'source'])
  }
}
