import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../crash/watching.ts'

const VALUES = {
  ODD_WORD: 'true',
  ODD_NOTHING: '',
  ODD_SHELL: '$HOME `id` $(id) \\ "q" \'q\' !!',
  ODD_LINES: '-----BEGIN KEY-----\nabc\r\n\tdef\n',
}

test('secret values of every odd form are exact in the environment of a command, and hidden where that is safe', async () => {
  const command = Object.keys(VALUES)
    .map((name) => `printf %s "$${name}" > ${name}; printenv ${name}`)
    .join('; ')
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [{ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'Done.' }],
  })
  await using server = await startTestServer()
  for (const [name, value] of Object.entries(VALUES)) {
    expect((await server.call('POST', '/api/secrets', { name, value })).status).toBe(201)
  }
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
  for (const [name, value] of Object.entries(VALUES)) {
    expect([name, await readFile(server.dir.file('work', name), 'utf8')]).toEqual([name, value])
  }
  const { body: page } = await server.call('GET', `/api/conversations/${info.id}/events/search`)
  const output = page.items.find(({ observation }: any) => observation?.kind === 'TerminalObservation').observation
    .content[0].text
  expect(output).toContain('<secret-hidden>')
  expect(output).not.toContain('`id`')
  expect(output).not.toContain('BEGIN KEY')
  // Hiding a word as common as this one would destroy ordinary output.
  expect(output).toContain('true')
})
