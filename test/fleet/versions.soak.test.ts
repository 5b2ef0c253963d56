import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'vitest'
import { VERSION } from '../../packages/server/src/lib/index.ts'
import { COMPILE_CACHE } from '../../packages/server/testing/server-program.ts'
import { playTwoVersions } from './versions.ts'

/** The file with which servers began to share a store. */
const FIRST = 'packages/server/src/coordination/shared.ts'

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()

test('a conversation moves between nodes of this commit and of the first one that shares a store, in the middle of its turns', async () => {
  const commit = git('log', '--diff-filter=A', '--format=%H', '--', FIRST).split('\n').at(-1)!
  const folder = join(COMPILE_CACHE, `first-${commit.slice(0, 12)}`)
  git('worktree', 'add', '--force', '--detach', folder, commit)
  await using _removed = {
    [Symbol.asyncDispose]: async () => {
      git('worktree', 'remove', '--force', folder)
      await rm(folder, { recursive: true, force: true })
    },
  }
  execFileSync('npm', ['ci'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  await playTwoVersions({ argv: [join(folder, 'dist', 'parley.js')], version: VERSION }, VERSION)
}, 900_000)
