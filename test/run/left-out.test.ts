/** An image that is none: it stays in the log, clients see why, and no request has it. */
import { expect, test } from 'vitest'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'

const BAD = Buffer.from('not a picture').toString('base64')

test('an image that models cannot see is in no request, also after a restart and in a fork, and clients see why', async () => {
  await using server = await startRunning(() => ({ text: 'Done.' }))
  const llm = { model: 'openai/gpt-4o', base_url: `${server.model.url}/v1`, api_key: 'k', num_retries: 0 }
  const id = await server.start({ agent: { kind: 'Agent', llm, tools: [] } })
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', image_urls: [`data:image/png;base64,${BAD}`] },
  ]
  await server.call('POST', `/api/conversations/${id}/events`, { role: 'user', content, run: true })
  await server.until(id, 'finished')
  const refused = () => server.model.requests.filter(({ text }) => text.includes(BAD)).length
  expect(refused()).toBe(0)
  const events = await server.events(id)
  expect(JSON.stringify(events.find(({ source }) => source === 'user'))).toContain(BAD)
  expect(events.find(({ kind }) => kind === 'ConversationErrorEvent')).toMatchObject({
    code: 'LLMPartLeftOut',
    detail: 'An image is not sent to models any more: It is a text. Send a PNG, JPEG, GIF or WebP.',
  })
  expect(events.find(({ key }) => key === 'left_out')).toMatchObject({
    kind: 'ConversationStateUpdateEvent',
    value: [{ part: 'image', index: 0 }],
  })
  await server.restart()
  const { body: fork } = await server.call('POST', `/api/conversations/${id}/fork`, {})
  for (const each of [id, fork.id]) {
    await server.say(each, 'and now?')
    await server.until(each, 'finished')
  }
  expect(refused()).toBe(0)
})
