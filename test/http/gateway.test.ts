import { expect, test } from 'vitest'
import { startKeyedServer } from '../../packages/server/testing/keyed-server.ts'

test('a chat completion that takes too long returns 504, and its conversation continues', async () => {
  const gate = Promise.withResolvers<{ text: string }>()
  await using server = await startKeyedServer({
    respond: () => gate.promise,
    overrides: { chatWaitMs: 200 },
  })
  await server.call('POST', '/api/profiles/p', { llm: server.agent['llm'] })
  const body = { model: 'openhands_p', messages: [{ role: 'user', content: 'x' }] }
  const late = await server.call('POST', '/v1/chat/completions', body)
  const id = late.headers.get('x-openhands-serverconversation-id')
  expect([late.status, late.json]).toEqual([
    504,
    { detail: 'Internal Server Error', exception: expect.stringMatching(/^504: .*ask again$/) },
  ])
  gate.resolve({ text: 'Here I am.' })
  const again = await server.call(
    'POST',
    `/api/conversations/${id}/events`,
    { content: [] },
    { headers: { prefer: 'wait=20' } },
  )
  expect(again.status).toBe(200)
  expect((await server.call('GET', `/api/conversations/${id}/agent_final_response`)).json).toEqual({
    response: 'Here I am.',
  })
})
