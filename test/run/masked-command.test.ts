import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'

test('a word that equals a secret value is masked in the log and executed unmasked', async () => {
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [
      { toolCalls: [{ name: 'terminal', arguments: { command: 'echo harvest > crop.txt' } }] },
      { text: 'Done.' },
    ],
  })
  await using server = await startTestServer()
  expect((await server.call('POST', '/api/secrets', { name: 'SEASON', value: 'harvest' })).status).toBe(201)
  const { body: info } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: server.dir.file('work') },
    agent: {
      kind: 'Agent',
      llm: { model: 'openai/x', base_url: `${model.url}/v1`, api_key: canary('llm_key') },
      tools: [{ name: 'terminal' }],
    },
    autotitle: false,
    initial_message: { content: [{ type: 'text', text: 'go' }] },
  })
  await until(
    async () => (await server.call('GET', `/api/conversations/${info.id}`)).body.execution_status === 'finished',
  )
  expect(await readFile(server.dir.file('work', 'crop.txt'), 'utf8')).toBe('harvest\n')
  const { body: page } = await server.call('GET', `/api/conversations/${info.id}/events/search`)
  expect(JSON.stringify(page)).not.toContain('harvest')
  expect(JSON.stringify(page)).toContain('<secret-hidden>')
})
