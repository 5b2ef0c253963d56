import { AgentBase } from '@parley/protocol'
import { expect, test } from 'vitest'
import { startEdge } from './edge.ts'

test('an answer that does not come in time is 504; the conversation goes on', async () => {
  const gate = Promise.withResolvers<{ text: string }>()
  await using edge = await startEdge({
    respond: () => gate.promise,
    more: (heart, agent) => ({
      gateway: {
        waitMs: 200,
        profiles: async () => ['p'],
        start: ({ id, content }, actor) =>
          heart.start(
            { conversation_id: id, agent: AgentBase.parse(agent), initial_message: { content }, fingerprint: id },
            actor,
          ),
      },
    }),
  })
  const body = { model: 'openhands_p', messages: [{ role: 'user', content: 'x' }] }
  const late = await edge.call('POST', '/v1/chat/completions', body)
  const id = late.headers.get('x-openhands-serverconversation-id')
  expect([late.status, late.json]).toEqual([
    504,
    { detail: 'Internal Server Error', exception: expect.stringMatching(/^504: .*ask again$/) },
  ])
  gate.resolve({ text: 'Here I am.' })
  const again = await edge.call(
    'POST',
    `/api/conversations/${id}/events`,
    { content: [] },
    { headers: { prefer: 'wait=20' } },
  )
  expect(again.status).toBe(200)
  expect((await edge.call('GET', `/api/conversations/${id}/agent_final_response`)).json).toEqual({
    response: 'Here I am.',
  })
})
