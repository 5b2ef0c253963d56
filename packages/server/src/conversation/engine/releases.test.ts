import { asConversationId } from '@parley/protocol'
import { existsSync, mkdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ANN, openBench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { tempDir } from '../../../testing/temp.ts'
import { until } from '../../../testing/until.ts'
import { openSqlite } from '../../storage/index.ts'
import { openWorkspaceRemoval, type Workspaces } from '../../workspace/index.ts'
import { openReleases } from './releases.ts'

test('the clean-up of a deleted conversation that failed is repeated without a restart, and its id can be used again', async () => {
  await using bench = await openBench()
  const it = await bench.start()
  await it.is('finished')
  bench.faults.release = diskFull()
  await bench.engine.delete(it.id, ANN)
  const again = () => bench.start({ conversation_id: it.id })
  await expect(again()).rejects.toMatchObject({ code: 'conflict' })
  bench.faults.release = null
  await until(() =>
    again().then(
      () => true,
      () => false,
    ),
  )
})

test('a release whose processes do not end in time is answered, and settled once they have ended', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  const ended = Promise.withResolvers<void>()
  const workspaces = { release: () => ended.promise } as unknown as Workspaces
  const log = { warn: () => undefined, error: () => undefined }
  const releases = openReleases({
    conversations: storage.conversations,
    workspaces,
    removal: openWorkspaceRemoval({ store: storage.workspaces, workspaces, dataDir: dir.path, log }),
    folderOf: (id) => dir.file(id),
    readRecord: () => expect.fail('there is no record'),
    log,
  })
  const deleted = { id: asConversationId('c1'), owner: 'ann', workspace: 'auto' as const, record: null }
  mkdirSync(dir.file('c1'))
  const late = AbortSignal.abort()
  expect(await releases.settle(deleted, { late })).toMatchObject({ outcome: 'kept', reason: 'failed' })
  expect(existsSync(dir.file('c1'))).toBe(true)
  ended.resolve()
  await until(() => !existsSync(dir.file('c1')))
})
