/** Sub-agents of a server that is killed at a commit: the campaign kills at every second one, the short form at every sixth. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { byForm } from '../../packages/server/testing/campaign.ts'
import { conversation, start } from '../../packages/server/testing/conversations.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import {
  childrenOf,
  costsOf,
  finish,
  parent,
  run,
  startScripts,
  task,
  textOf,
} from '../../packages/server/testing/sub-agent-scripts.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const EVERY = byForm({ test: 6, campaign: 2 })

test('kill -9 before or after a commit starts, executes and pays the work of a sub-agent once', async () => {
  await using model = await startScripts({
    parent: [task('[child] x'), finish('parent done')],
    child: [run('echo once >> trace'), finish('child done')],
  })
  let tried = 0
  for (let at = 1; ; at += EVERY) {
    await using dir = await tempDir()
    const dataDir = dir.file('data')
    const port = await freePort()
    const when = Math.floor(at / EVERY) % 2 === 0 ? 'before' : 'after'
    const first = await startServerProcess({ dataDir, port, crash: { at, when } })
    const id = '00000000-0000-4000-8000-000000000001'
    await start(first, parent(model, dir.file('work'), { conversation_id: id })).catch(() => null)
    const isOver = async (on: ServerProcess) =>
      ['finished', 'error'].includes((await conversation(on, id).info()).execution_status)
    const over = until(async () => isOver(first).catch(() => false), 60_000).catch(() => undefined)
    const crashed = await Promise.race([first.exited.then(() => true), over.then(() => false)])
    await using second = crashed ? await startServerProcess({ dataDir, port }) : first
    // A request without an acknowledgement may be sent again.
    if ((await second.call('GET', `/api/conversations/${id}`)).status === 404)
      await start(second, parent(model, dir.file('work'), { conversation_id: id }))
    const it = conversation(second, id)
    await it.is('finished', 'error')
    const where = `${when} commit ${at}`
    expect((await it.info()).execution_status, where).toBe('finished')
    expect(textOf((await it.kinds('ObservationEvent'))[0]), where).toContain('child done')
    const children = await childrenOf(second, id)
    expect(children, where).toHaveLength(1)
    expect(await readFile(dir.file('work', 'trace'), 'utf8'), where).toBe('once\n')
    const [child] = children
    expect(
      (await child!.kinds('MessageEvent')).filter(({ source }) => source === 'user'),
      where,
    ).toHaveLength(1)
    // An answer that a killed process did not store is not paid; stored ones add up.
    const { by } = costsOf(await it.info())
    const bucket = Object.entries(by).find(([usage]) => usage.startsWith('task:'))?.[1]
    expect(bucket, where).toBeCloseTo(costsOf(await child!.info()).total, 9)
    await second.call('DELETE', `/api/conversations/${child!.id}`)
    await second.call('DELETE', `/api/conversations/${id}`)
    if (!crashed) break
    tried = at
  }
  expect(tried).toBeGreaterThanOrEqual(12)
  expect(model.violations).toEqual([])
}, 300_000)
