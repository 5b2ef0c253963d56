/** A user with many runs of a slow model does not delay the runs of another. Source: docs/quotas.md, Runs and starts. */
import { expect, test } from 'vitest'
import { KEYS, startKeyedServer, type Loose } from '../../packages/server/testing/keyed-server.ts'
import { until } from '../../packages/server/testing/until.ts'

test('the run of a user ends while another user has more runs of a slow model than there are slots', async () => {
  const slow = Promise.withResolvers<void>()
  await using server = await startKeyedServer({
    respond: async ({ text }) => {
      if (text.includes('slowly')) await slow.promise
      return { text: 'Done.' }
    },
    env: {
      PARLEY_MODE: 'shared',
      PARLEY_MAX_CONCURRENT_RUNS: '8',
      PARLEY_USER_EGRESS: 'any',
      PARLEY_USER_LIMITS: '{"*":{"runs":0}}',
    },
  })
  const start = async (key: string, text: string) => {
    const { home } = (await server.call('GET', '/api/file/home', undefined, { key })).json
    const initial_message = { role: 'user', content: [{ type: 'text', text }], run: true }
    const body = { workspace: { working_dir: `${home}/work` }, agent: server.agent, autotitle: false, initial_message }
    return (await server.call('POST', '/api/conversations', body, { key })).json.id as string
  }
  const runsOf = async (key: string) => {
    const { quotas } = (await server.call('GET', '/api/quotas', undefined, { key })).json
    return quotas.find(({ name }: Loose) => name === 'runs')
  }
  for (let n = 0; n < 10; n += 1) await start(KEYS.bob, 'Answer slowly.')
  await until(async () => (await runsOf(KEYS.bob)).waiting === 3)
  const id = await start(KEYS.ann, 'Answer.')
  const path = `/api/conversations/${id}`
  await until(async () => (await server.call('GET', path)).json.execution_status === 'finished', 20_000)
  expect(await runsOf(KEYS.bob)).toEqual({ name: 'runs', limit: null, used: 7, waiting: 3 })
  slow.resolve()
  await until(async () => (await runsOf(KEYS.bob)).used === 0, 20_000)
}, 60_000)
