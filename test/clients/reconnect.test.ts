import { expect, test } from 'vitest'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import { command, instruct, startInstructedModel } from '../../packages/server/testing/instructed-model.ts'
import { client, type Frame, isSnapshot } from '../../packages/server/testing/typescript-client.ts'

test('a client reconnects by itself after a kill of the server and receives every event', async () => {
  await using dir = await tempDir()
  await using model = await startInstructedModel()
  const at = { dataDir: dir.file('data'), port: await freePort() }
  await using first = await startServerProcess(at)
  const frames: Frame[] = []
  const workspace = new client.RemoteWorkspace({ host: first.url, apiKey: TEST_KEY, workingDir: dir.file('work') })
  const agent = new client.Agent({ llm: llmRecord('chat', model.url), tools: [{ name: 'terminal' }] } as never)
  const conversation = new client.RemoteConversation(agent, workspace, { callback: (event) => void frames.push(event) })
  try {
    await conversation.start()
    await conversation.startWebSocketClient()
    await until(() => frames.some(isSnapshot))
    await conversation.sendMessage(instruct(command('sleep 2; echo survived'), { text: 'Done.' }))
    await conversation.run()
    await until(() => frames.some(({ kind }) => kind === 'ActionEvent'))
    await first.kill()
    const before = frames.length
    await using second = await startServerProcess(at)
    await until(() => frames.slice(before).some(isSnapshot), 30_000)
    const info = async () => (await second.call('GET', `/api/conversations/${conversation.id}`)).body
    await until(async () => (await info()).execution_status === 'finished', 30_000)
    await until(() => frames.some((frame) => isSnapshot(frame) && frame.value.execution_status === 'finished'), 30_000)
    const events: Frame[] = await conversation.state.events.getEvents()
    const observed = events.filter(({ kind }) => kind === 'ObservationEvent')
    expect(observed.map(({ observation }) => observation.content[0].text)).toEqual([
      expect.stringContaining('survived'),
    ])
    expect(await conversation.getAgentFinalResponse()).toBe('Done.')
  } finally {
    await conversation.close()
  }
}, 90_000)
