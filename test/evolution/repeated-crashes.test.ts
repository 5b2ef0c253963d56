/** A conversation that crashes the server again and again. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { conversation, start, starting } from '../../packages/server/testing/conversations.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const CLI = [
  '--import',
  file('../../packages/server/testing/crash-on-signal.ts'),
  file('../../packages/cli/src/main.ts'),
]

test('a conversation that runs while the server crashes three times stays paused until it is run again; kills do not count', async () => {
  await using dir = await tempDir()
  let answers = false
  await using model = await startScriptedModel({
    respond: () => (answers ? { text: 'Done.' } : new Promise(() => undefined)),
  })
  const open = () => startServerProcess({ dataDir: dir.file('data'), argv: CLI })
  let id = ''
  for (const end of ['SIGUSR2', 'SIGKILL', 'SIGUSR2', 'SIGUSR2'] as const) {
    const before = model.requests.length
    await using server = await open()
    if (id === '') {
      const begun = await start(server, starting(model, dir.file('work')))
      id = begun.id
      await begun.say('go')
    }
    await until(() => model.requests.length > before)
    server.process.kill(end)
    await server.exited
  }
  const asked = model.requests.length
  await using server = await open()
  const stopped = conversation(server, id)
  await stopped.is('paused')
  expect(await stopped.kinds('ConversationErrorEvent')).toMatchObject([{ code: 'RepeatedCrash' }])
  expect(model.requests).toHaveLength(asked)
  answers = true
  await stopped.post('run')
  await stopped.is('finished')
}, 60_000)
