/** The difference of one file as a patch. Source: agent-server-wire.md 1.9. */
import { lstat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { type GitPatch, ParleyError } from '@parley/protocol'
import { isInside } from '../../lib/index.ts'
import type { Workspace } from '../workspace.ts'
import { asked, baseFor, existingDirectoryOf, fileText, MAX_FILE_BYTES } from './queries.ts'
import { repositoryOf } from './repository.ts'
import { DIFF } from './run.ts'

/**
 * The difference between a file of the working tree and a commit; null outside a repository. The text of a symlink is its target.
 * @throws ParleyError `bad_request`.
 */
export async function patchOf(
  workspace: Workspace,
  { path, ref, old_path }: { path: string; ref?: string | undefined; old_path?: string | undefined },
  signal: AbortSignal,
): Promise<GitPatch | null> {
  const real = join(await asked(workspace, dirname(path)), basename(path))
  const repository = await repositoryOf(workspace, await existingDirectoryOf(real), signal)
  if (repository === null || !isInside(repository.root, real)) return null
  const { git, root } = repository
  const name = relative(root, real)
  const earlier = old_path === undefined ? [] : [nameIn(root, old_path)]
  const base = await baseFor(repository, ref, signal)
  const bytes = await sizeOf(real)
  const answer = (patch: string | null, binary = false): GitPatch => ({ ref: base, patch, binary, bytes })
  const args = [...DIFF, '--find-renames', '--no-color', base, '--', ...earlier, name]
  const patch = await git.tell(['--literal-pathspecs', 'diff', ...args], signal)
  if (/^Binary files .* differ$/m.test(patch.split('\n@@', 1)[0]!)) return answer(null, true)
  if (patch.length > MAX_FILE_BYTES) return answer(null)
  if (patch !== '') return answer(patch)
  const isKnown = (await git.ask(['cat-file', '-e', `${base}:${name}`], signal)) !== null
  if (isKnown || bytes === null) return answer('')
  if (bytes > MAX_FILE_BYTES) return answer(null)
  const text = (await fileText(real, workspace.account ?? null)) ?? ''
  return text.includes('\0') ? answer(null, true) : answer(asNew(text))
}

/** @throws ParleyError `bad_request` for a path that leaves the repository. */
function nameIn(root: string, path: string): string {
  if (path === '' || isAbsolute(path) || !isInside(root, join(root, path)))
    throw new ParleyError(
      'bad_request',
      'old_path must be a path relative to the repository, as the list of changes names it',
    )
  return path
}

async function sizeOf(path: string): Promise<number | null> {
  const found = await lstat(path).catch(() => null)
  return found === null || found.isDirectory() ? null : found.size
}

/** A file that git does not know yet: all of its lines are new. */
function asNew(text: string): string {
  if (text === '') return ''
  const lines = text.replace(/\n$/, '').split('\n')
  return [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`), ''].join('\n')
}
