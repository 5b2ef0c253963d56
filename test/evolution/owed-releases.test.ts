/** The clean-up of a deleted conversation, cut off by a crash. Two servers and a runner start one after another, which takes long on a busy machine. */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { start, starting } from '../../packages/server/testing/conversations.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

test('a crash between the commit of a deletion and its clean-up leaves no process running and no folder', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  const command = 'sleep 4242.5 > /dev/null 2>&1 &'
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [{ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'It sleeps.' }],
  })
  await using first = await startServerProcess({ dataDir, crash: { at: 'delete', when: 'after' } })
  const begun = await start(first, starting(model, dir.file('work')))
  await begun.say('sleep')
  await begun.is('finished')
  const sleeping = () => processesOf(dataDir, 'sleep 4242.5')
  expect(await sleeping()).not.toEqual([])
  await first.call('DELETE', `/api/conversations/${begun.id}`).catch(() => undefined)
  await first.exited
  expect(await sleeping()).not.toEqual([])

  await using second = await startServerProcess({ dataDir })
  await until(async () => (await sleeping()).length === 0 && !existsSync(dir.file('data', 'conversations', begun.id)))
  // Its id can be used again as soon as nothing of it is left.
  const request = starting(model, dir.file('work'), { conversation_id: begun.id })
  await until(async () => (await second.call('POST', '/api/conversations', request)).status === 201)
}, 60_000)
