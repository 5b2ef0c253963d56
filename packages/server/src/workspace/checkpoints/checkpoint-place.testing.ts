/** Workspaces with checkpoints for tests. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { fileTree } from '../../../testing/file-tree.ts'
import { never, type TestWorkspaces } from '../workspace.testing.ts'
import type { CheckpointPlace } from './git.ts'

let count = 0

/** An empty workspace and its checkpoints. @param parent folder of the workspace; default: one beside the data directory */
export function openPlace(from: TestWorkspaces, parent = from.dir.file('workspaces')) {
  const name = `files-${count++}`
  const dir = join(parent, name)
  mkdirSync(dir, { recursive: true })
  mkdirSync(from.dir.file('folders', name), { recursive: true })
  const place: CheckpointPlace = {
    conversationId: asConversationId(name),
    epoch: 1,
    workingDir: dir,
    inside: parent,
    gitDir: from.dir.file('folders', name, 'checkpoints.git'),
  }
  const file = (...parts: string[]) => join(dir, ...parts)
  const checkpoints = from.workspaces.checkpoints!
  const open = () => checkpoints.open(place)
  return {
    dir,
    place,
    file,
    checkpoints,
    repository: open(),
    /** The same checkpoints, as another process opens them. */
    again: open,
    write(path: string, text: string | Buffer) {
      mkdirSync(join(dir, path, '..'), { recursive: true })
      writeFileSync(file(path), text)
    },
    git(...args: string[]) {
      const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }
      const env = { PATH: process.env['PATH'], HOME: dir, ...who }
      return execFileSync('git', args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'ignore'] }).toString()
    },
    files: () => fileTree(dir),
  }
}

export type OpenedPlace = ReturnType<typeof openPlace>

/** Removes everything from the workspace, then makes its files those of the tree. */
export async function restoredInEmpty(at: OpenedPlace, tree: string): Promise<Record<string, string>> {
  const { dir, repository, files } = at
  for (const name of readdirSync(dir)) if (name !== '.git') rmSync(join(dir, name), { recursive: true, force: true })
  await repository.checkOut(tree, never)
  return files()
}

/** A place for the copy of a workspace, which does not exist yet. */
export function placeOfCopy(from: TestWorkspaces): CheckpointPlace {
  const name = `copy-${count++}`
  return {
    conversationId: asConversationId(name),
    epoch: 0,
    workingDir: from.dir.file('workspaces', name),
    inside: from.dir.file('workspaces'),
    gitDir: from.dir.file('folders', name, 'checkpoints.git'),
  }
}
