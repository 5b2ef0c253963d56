/** An expression that a request brings meets names that a request brings: neither may hold up the server. Source: agent-core.md 8.1. */
import { expect, test } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'

test('an endless expression for the name of a client tool is refused while the server serves other requests', async () => {
  await using server = await startTestServer()
  const spec = (name: string) => ({ name, description: 'd', parameters: { type: 'object', properties: {} } })
  const names = Array.from({ length: 50 }, (_, at) => `${'a'.repeat(40)}_${at}`)
  const tools = names.map((name) => ({ name, params: { spec: spec(name) } }))
  const request = (agent: object) =>
    server.call('POST', '/api/conversations', {
      workspace: { working_dir: server.dir.file('work') },
      agent: { kind: 'Agent', llm: { model: 'openai/x', api_key: 'k' }, ...agent },
    })
  const begun = performance.now()
  let isRefused = false
  const refused = request({ tools, filter_tools_regex: '(a+)+$' }).finally(() => {
    isRefused = true
  })
  do expect((await server.call('GET', '/alive')).status).toBe(200)
  while (!isRefused)
  const { status, body } = await refused
  // Without a limit the universe would have to wait; with one for each name it would be minutes.
  expect(performance.now() - begun).toBeLessThan(20_000)
  expect(status).toBe(422)
  expect(JSON.stringify(body)).toMatch(/filter_tools_regex takes too long on the tool 'a+_0'/)
  for (const filter_tools_regex of ['(', 'x'.repeat(2001)]) {
    for (const agent of [{}, { kind: 'ACPAgent', acp_command: ['x'] }]) {
      const bad = await request({ ...agent, filter_tools_regex })
      expect([bad.status, JSON.stringify(bad.body)]).toEqual([422, expect.stringContaining('filter_tools_regex')])
    }
  }
}, 60_000)
