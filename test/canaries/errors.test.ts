/** Errors that repeat a secret in their text: a provider that names the wrong key, a header that cannot be sent. */
import { expect, test } from 'vitest'
import { canary, MARK } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

test('the text of an error is in the log, and the secrets in it are not', async () => {
  await using dir = await tempDir()
  let turn = 0
  await using model = await startScriptedModel({
    respond: () =>
      turn++ === 0
        ? { toolCalls: [{ name: 'terminal', arguments: { command: 'echo "[$AWAY]"' } }] }
        : { status: 401, error: `Incorrect key provided: ${canary('llm_key')}` },
  })
  const env = { PARLEY_LOG_LEVEL: 'trace', PARLEY_SECRET_LOOKUP_HOSTS: '127.0.0.1:9' }
  await using server = await startServerProcess({ dataDir: dir.file('data'), env })
  const { status, body } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: dir.file('work') },
    agent: {
      kind: 'Agent',
      llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
      tools: [{ name: 'terminal' }],
    },
    secrets: {
      AWAY: {
        kind: 'LookupSecret',
        url: 'http://127.0.0.1:9/',
        headers: { Authorization: `${canary('lookup_header')}\nX: y` },
      },
    },
    autotitle: false,
    initial_message: { content: [{ type: 'text', text: 'go' }] },
  })
  expect(status).toBe(201)
  await until(async () => (await server.call('GET', `/api/conversations/${body.id}`)).body.execution_status === 'error')
  const said = server.stderr()
  expect(said).toContain('secret not looked up')
  expect(said).toContain('is an invalid header value')
  expect(said).toMatch(/Incorrect key provided: <[a-z -]+>/)
  expect(said).not.toContain(MARK)
}, 60_000)
