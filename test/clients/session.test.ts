import { expect, test } from 'vitest'
import { newConversationId, ParleyClient } from '../../packages/client/src/index.ts'
import type { SessionFrame } from '../../packages/protocol/src/index.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { command, instruct, startInstructedModel } from '../../packages/server/testing/instructed-model.ts'
import { llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const isStatus = (status: string) => (frame: SessionFrame) =>
  frame.type === 'snapshot' && frame.state['execution_status'] === status

test('the session of a conversation has output of commands, and each event once over a kill of the server', async () => {
  await using dir = await tempDir()
  await using model = await startInstructedModel()
  const at = { dataDir: dir.file('data'), port: await freePort() }
  await using first = await startServerProcess(at)
  const client = new ParleyClient({ baseUrl: first.url, apiKey: TEST_KEY })
  const agent = { kind: 'Agent' as const, llm: llmRecord('chat', model.url), tools: [{ name: 'terminal' }] }
  const { id } = await client.start({ agent, workspace: { working_dir: dir.file('work') } } as never)
  const frames: SessionFrame[] = []
  const connections: boolean[] = []
  const stop = new AbortController()
  const onConnection = (isOpen: boolean) => void connections.push(isOpen)
  const watching = (async () => {
    const { signal } = stop
    for await (const frame of client.conversation(id).session({ signal, onConnection })) frames.push(frame)
  })()
  watching.catch(() => {})
  await client.conversation(id).send(instruct(command('echo early; sleep 3; echo late'), { text: 'Done.' }))
  await until(() => frames.some((frame) => frame.type === 'output' && frame.text.includes('early')))
  await first.kill()
  await until(() => connections.includes(false))
  await using _second = await startServerProcess(at)
  await until(() => frames.some(isStatus('finished')), 30_000)
  stop.abort(new Error('enough'))
  await expect(watching).rejects.toThrow('enough')
  const seqs = frames.flatMap((frame) => (frame.type === 'event' ? [frame.seq] : []))
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 1))
  expect(connections).toEqual([true, false, true])
}, 90_000)

test('the session of a conversation that does not exist, or with another key, ends with the status of the refusal', async () => {
  await using dir = await tempDir()
  await using server = await startServerProcess({ dataDir: dir.file('data') })
  const read = async (apiKey: string) => {
    const session = new ParleyClient({ baseUrl: server.url, apiKey }).conversation(newConversationId()).session()
    for await (const _frame of session) throw new Error('a frame came')
  }
  await expect(read(TEST_KEY)).rejects.toMatchObject({ status: 404 })
  await expect(read('another key')).rejects.toMatchObject({ status: 401 })
})
