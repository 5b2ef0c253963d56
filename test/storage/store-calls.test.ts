import { expect, test } from 'vitest'
import { countingStorage, storeCalls } from '../../packages/server/testing/counting-storage.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'

const COMMANDS = 5
/** Most calls of the store in a turn of six model calls and five commands, those of its request included. */
const MOST = 28

/** Calls that timers make, whether there is a turn or not. */
const OF_TIMERS: ReadonlySet<string> = new Set(['users.suspended', 'audit.write'])

test('a turn of six model calls and five commands makes at most 28 calls of the store', async () => {
  await using model = await startScriptedModel({
    respond: ({ body }) => {
      const messages = body['messages'] as { role: string }[]
      const since = messages.length - 1 - messages.findLastIndex(({ role }) => role === 'user')
      const call = Math.ceil(since / 2)
      if (call >= COMMANDS) return { text: 'done' }
      return { toolCalls: [{ name: 'terminal', arguments: { command: `echo step ${call}` } }] }
    },
  })
  const calls = storeCalls()
  await using server = await startTestServer({}, { wrapStorage: (storage) => countingStorage(storage, calls) })
  const { body } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: server.dir.file('work') },
    agent: {
      kind: 'Agent',
      llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: 'k' },
      tools: [{ name: 'terminal' }],
    },
    autotitle: false,
  })
  const path = `/api/conversations/${body.id}`
  const turn = async () => {
    const before = { ...calls.newest }
    await server.call('POST', `${path}/events`, { content: [{ type: 'text', text: 'go' }], run: true })
    await until(() => calls.newest.status === 'finished' && calls.newest.seq > before.seq)
  }
  await turn()
  calls.reset()
  await turn()
  const counted = [...calls.of].filter(([name]) => !OF_TIMERS.has(name))
  expect(calls.of.get('conversations.append')).toBe(13)
  expect(calls.of.has('settings.get') || calls.of.has('secrets.list')).toBe(false)
  const total = counted.reduce((sum, [, count]) => sum + count, 0)
  expect(total, JSON.stringify(counted)).toBeLessThanOrEqual(MOST)
}, 30_000)
