/** The checkpoints of a conversation with limits that a test can reach; the others are in test/conversation/file-checkpoints.test.ts. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EMPTY_STATE, type ConversationState } from '@parley/protocol'
import { afterEach, expect, test } from 'vitest'
import { fileTree } from '../../../testing/file-tree.ts'
import { conversation } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import { until } from '../../../testing/until.ts'
import { openSqlite } from '../../storage/index.ts'
import { openTestWorkspaces, type TestWorkspaces } from '../../workspace/workspace.testing.ts'
import type { ConversationRecord } from '../record/record.ts'
import { FileCheckpoints } from './file-checkpoints.ts'

type Limits = NonNullable<Parameters<typeof openTestWorkspaces>[0]>['checkpointLimits']

let opened: AsyncDisposableStack
afterEach(() => opened.disposeAsync())

/** The checkpoints of a conversation whose log grows by `go`. */
async function open(checkpointLimits: NonNullable<Limits>) {
  opened = new AsyncDisposableStack()
  const dir = opened.use(await tempDir())
  const storage = opened.use(await openSqlite({ path: dir.file('parley.db') }))
  const here: TestWorkspaces = opened.use(await openTestWorkspaces({ checkpointLimits }))
  const row = conversation()
  await storage.conversations.create(row)
  const work = here.dir.file('workspaces', row.id)
  for (const folder of [work, here.dir.file('folders', row.id)]) mkdirSync(folder, { recursive: true })
  let state: ConversationState = { ...EMPTY_STATE, last_response_id: 'r' }
  const ended = new AbortController()
  opened.defer(() => ended.abort())
  const warnings: string[] = []
  const openFiles = () =>
    new FileCheckpoints(
      {
        id: row.id,
        epoch: 0,
        state: () => state,
        record: () => ({ workspace: { kind: 'LocalWorkspace', working_dir: work } }) as ConversationRecord,
        inBackground: (done, signal) =>
          done(AbortSignal.any([ended.signal, ...(signal === undefined ? [] : [signal])])),
      },
      {
        storage,
        workspaces: here.workspaces,
        workspacesDir: here.dir.file('workspaces'),
        folderOf: (id) => here.dir.file('folders', id),
        confirm: async (signal) => signal.throwIfAborted(),
        log: { warn: (_: object, text: string) => void warnings.push(text) },
      },
    )
  const files = openFiles()
  return {
    files,
    /** The same checkpoints, as another process opens them. */
    again: openFiles,
    work,
    warnings,
    rows: () => storage.checkpoints.list(row.id),
    /** Writes a file, adds an event, and waits for its checkpoint. */
    async go(name: string, content: string | Buffer, by = files) {
      writeFileSync(join(work, name), content)
      state = { ...state, seq: state.seq + 1 }
      by.request()
      await until(() => !by.isRecording)
      return state.seq
    },
  }
}

test('the older checkpoints are forgotten while all together take more than their limit, and the newest stays', async () => {
  const keptBytes = 250 * 1024
  const { files, work, rows, go } = await open({ keptBytes, looseFiles: 1 })
  for (let at = 0; at < 4; at++) await go('a', randomBytes(100 * 1024))
  const newest = await go('a', 'newest')
  const all = (await rows()).map(({ seq }) => seq)
  files.tidy()
  await until(() => !files.isRecording)
  const kept = (await rows()).map(({ seq }) => seq)
  expect(all).toHaveLength(5)
  expect(kept).toEqual(all.slice(3))
  const forgotten = { code: 'conflict', details: { reason: 'no_checkpoint' } }
  await expect(files.restore(all[0]!)).rejects.toMatchObject(forgotten)
  writeFileSync(join(work, 'a'), 'changed')
  await files.restore(newest)
  expect(fileTree(work)).toEqual({ a: 'newest' })
  await files.restore(kept[0]!)
  expect(fileTree(work)['a']).toHaveLength(100 * 1024)
})

test('objects are counted over all processes, of which each may add few', async () => {
  const { again, go, rows } = await open({ keptBytes: 1, looseFiles: 5 })
  const counts: number[] = []
  for (let process = 1; process <= 3; process++) {
    const files = again()
    await go('a', `${process}`, files)
    files.tidy()
    await until(() => !files.isRecording)
    counts.push((await rows()).length)
  }
  // Each adds a file and a tree. When they are packed, they take more than is kept.
  expect(counts).toEqual([1, 2, 1])
})

test('a refused checkpoint is logged once, and its reason is the answer to requests for its files', async () => {
  const { files, work, warnings, go } = await open({ changedFiles: 3 })
  await go('a', '1')
  for (let file = 0; file < 3; file++) writeFileSync(join(work, `file-${file}`), '')
  const refused = await go('b', '1')
  await go('c', '1')
  expect(warnings).toEqual(['no checkpoint of the files'])
  const reason = expect.stringContaining('5 new or changed files with 2 bytes')
  expect(await files.copy(null, async () => 'copied')).toEqual({ missing: reason })
  const answer = { code: 'conflict', message: reason, details: { reason: 'no_checkpoint' } }
  await expect(files.restore(refused)).rejects.toMatchObject(answer)
  writeFileSync(join(work, '.gitignore'), 'file-*\n')
  expect(await files.copy(null, async ({ tree }) => tree)).toMatchObject({
    result: expect.stringMatching(/^[0-9a-f]{40}$/),
  })
})
