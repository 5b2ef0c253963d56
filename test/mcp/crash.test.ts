import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { start, starting } from '../../packages/server/testing/conversations.ts'
import { isAlive, faultyServer, startsIn } from '../../packages/server/testing/mcp/servers.ts'

test('a server killed during an MCP call does not repeat it, and the MCP program ends with it and restarts on demand', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [
      { toolCalls: [{ name: 'wait', arguments: {} }] },
      { toolCalls: [{ name: 'say_kind', arguments: { kind: 'after' } }] },
      { text: 'done' },
    ],
  })
  const journal = dir.file('journal')
  const first = await startServerProcess({ dataDir: dir.file('data') })
  const agent = { mcp_config: { odd: faultyServer('fine', journal) } }
  const { id } = await start(first, {
    ...starting(model, dir.file('work'), { agent }),
    initial_message: { content: [{ type: 'text', text: 'go' }] },
  })
  const noted = () => readFile(journal, 'utf8').catch(() => '')
  await until(async () => (await noted()).includes('called wait'), 30_000)
  const [program] = await startsIn(journal)
  await first.kill()
  await until(() => !isAlive(program!), 30_000)

  await using second = await startServerProcess({ dataDir: dir.file('data') })
  const info = async () => (await second.call('GET', `/api/conversations/${id}`)).body
  await until(async () => (await info()).execution_status === 'finished', 60_000)
  const { body } = await second.call('GET', `/api/conversations/${id}/events/search`)
  const answers = body.items.filter(({ kind }: { kind: string }) => /AgentError|Observation/.test(kind))
  expect(answers).toMatchObject([
    { kind: 'AgentErrorEvent', error: expect.stringContaining('it was not run again') },
    { kind: 'ObservationEvent', tool_name: 'say_kind' },
  ])
  expect((await noted()).match(/called wait/g)).toHaveLength(1)
  expect(await startsIn(journal)).toHaveLength(2)
}, 120_000)
