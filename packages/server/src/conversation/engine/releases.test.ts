import { newConversationId, type DeletedWorkspace } from '@parley/protocol'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, openBench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { ConversationRecord } from '../record/record.ts'
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

/** Releases whose end of processes and whose removal of the workspace take until the test opens them. */
function slowReleases() {
  const [processes, removal] = [Promise.withResolvers<void>(), Promise.withResolvers<DeletedWorkspace>()]
  const released: string[] = []
  const releases = openReleases({
    conversations: { owedReleases: async () => [], released: async (id) => void released.push(id) },
    workspaces: { release: () => processes.promise },
    removal: { settle: () => removal.promise, recover: () => undefined },
    folderOf: (id) => join(tmpdir(), `no-folder-of-${id}`),
    readRecord: () => ({}) as ConversationRecord,
    log: { warn: () => undefined },
  })
  return { processes, removal, released, releases }
}

test('a caller waits neither for processes nor for a workspace longer than its limits, and the release continues', async () => {
  const deleted = { id: newConversationId(), owner: 'ann', workspace: 'auto', record: null } as const
  const removed = { path: '/w', outcome: 'removed', reason: null, detail: null } as const
  const { processes, removal, released, releases } = slowReleases()
  const [late, tooLate] = [new AbortController(), new AbortController()]
  const early = releases.settle(deleted, { late: late.signal, tooLate: tooLate.signal })
  const patient = releases.settle(deleted, { tooLate: tooLate.signal })
  const untilEnd = releases.settle(deleted)
  late.abort()
  expect(await early).toMatchObject({ outcome: 'kept', reason: 'failed' })
  processes.resolve()
  tooLate.abort()
  expect(await patient).toMatchObject({ outcome: 'kept', reason: 'failed' })
  expect(released).toEqual([])
  removal.resolve(removed)
  expect(await untilEnd).toEqual(removed)
  await until(() => released.length === 3)
})
