/** Set-up scripts of repositories, which are run only for repositories that the operator trusts. */
import { join } from 'node:path'
import type { Workspace } from '../workspace.ts'
import { lastWords } from './failure.ts'

const SETUP = '.openhands/setup.sh'
const PRE_COMMIT = '.openhands/pre-commit.sh'
const MAX_BYTES = 64 * 1024

/**
 * Returns true when a pattern matches this repository. A pattern consists of host and path, `*` stands for any characters:
 * `github.com/acme/*`. Case does not matter.
 */
export function isTrusted(slug: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return new RegExp(`^${parts.join('.*')}$`, 'i').test(slug)
  })
}

/**
 * Runs the set-up script and installs the pre-commit hook of a repository, if it has them and is trusted. A failed script does not
 * fail the start; the result reports it.
 * @returns a description for people; null when there was nothing to do
 */
export async function setUpRepository(
  workspace: Workspace,
  { directory, slug, trusted }: { directory: string; slug: string; trusted: readonly string[] },
  signal: AbortSignal,
): Promise<string | null> {
  const found: string[] = []
  for (const file of [SETUP, PRE_COMMIT]) {
    if ((await workspace.stat(join(directory, file), signal))?.kind === 'file') found.push(file)
  }
  if (found.length === 0) return null
  if (!isTrusted(slug, trusted)) {
    return `${found.join(' and ')} left alone: ${slug} is not among trusted_repositories of this server`
  }
  const done: string[] = []
  if (found.includes(SETUP)) {
    const result = await workspace.exec(
      { argv: ['bash', SETUP], cwd: directory, maxBytes: MAX_BYTES, isOwn: true },
      signal,
    )
    const words = lastWords(result.stderr || result.stdout)
    done.push(result.exit_code === 0 ? `${SETUP} ran` : `${SETUP} ended with exit code ${result.exit_code}: ${words}`)
  }
  if (found.includes(PRE_COMMIT)) {
    const argv = ['install', '-m', '755', PRE_COMMIT, '.git/hooks/pre-commit']
    const result = await workspace.exec({ argv, cwd: directory, isOwn: true }, signal)
    done.push(
      result.exit_code === 0
        ? `${PRE_COMMIT} installed`
        : `${PRE_COMMIT} could not be installed: ${lastWords(result.stderr)}`,
    )
  }
  return done.join('; ')
}
