/** Checkpoints of sandboxed workspaces. Needs bubblewrap; without it, the tests are skipped. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBubblewrap } from '../runner/sandbox/sandbox.ts'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import { openPlace, placeOfCopy } from './checkpoint-place.testing.ts'
import { OWNER } from '../../../testing/roots.ts'

const found = await findBubblewrap()

describe.skipIf('reason' in found)('checkpoints of sandboxed workspaces', () => {
  let here: TestWorkspaces
  beforeAll(async () => {
    here = await openTestWorkspaces({ sandbox: { mode: 'required', network: false } })
  })
  afterAll(() => here[Symbol.asyncDispose]())

  /** Makes two checkpoints, restores the first one, and reads what a command of the conversation sees. */
  async function restoredAndSeen(parent?: string) {
    const at = openPlace(here, parent)
    at.write('a', '1')
    const tree = await at.repository.take(never)
    at.write('a', '2')
    await at.repository.take(never)
    await at.repository.checkOut(tree, never)
    const { conversationId, workingDir, epoch, gitDir } = at.place
    await using workspace = await here.workspaces.open({ conversationId, owner: OWNER, workingDir, epoch }, never)
    const { stdout } = await workspace.exec({ argv: ['sh', '-c', `cat a; ls ${gitDir}`] }, never)
    return { files: at.files(), seen: stdout, isMade: existsSync(gitDir) }
  }

  test('are made in a sandbox, and commands do not see them', async () => {
    expect(await restoredAndSeen()).toEqual({ files: { a: '1' }, seen: '1', isMade: true })
  })

  test('are made in a workspace outside of /tmp, too, when the data directory is below /tmp', async () => {
    expect(here.dataDir).toMatch(/^\/tmp\//)
    const parent = await mkdtemp('/var/tmp/parley-')
    try {
      expect(await restoredAndSeen(parent)).toEqual({ files: { a: '1' }, seen: '1', isMade: true })
    } finally {
      await rm(parent, { recursive: true })
    }
  })

  test('are copied with the repositories of the workspace', async () => {
    const at = openPlace(here)
    at.git('init', '-q')
    at.write('a', '1')
    at.git('add', '.')
    at.git('commit', '-qm', 'first')
    const tree = await at.repository.take(never)
    const to = placeOfCopy(here)
    expect(await at.checkpoints.copy(at.place, to, tree, never)).toEqual([])
    await using workspace = await here.workspaces.open({ ...to, owner: OWNER, epoch: 1 }, never)
    const argv = ['sh', '-c', 'cat a; git status --porcelain; git log --format=%s']
    expect((await workspace.exec({ argv }, never)).stdout).toBe('1first\n')
  })
})
