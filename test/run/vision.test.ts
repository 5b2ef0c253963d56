/** Tools follow the model that an open agent is given. Source: agent-core.md 8.6, 10.9. */
import { expect, test } from 'vitest'
import { dataUrl, pngOf } from '../../packages/server/testing/images.ts'
import { startScriptedModel, type ModelRequest } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

const PNG = dataUrl('image/png', pngOf({ width: 2, height: 2 }))
const EYES = 'inspect_image_with_vision'

const toolsOf = ({ body }: ModelRequest): string[] =>
  (body['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name)

test('a model without vision has the vision tool from its first step on, and a model with vision loses it', async () => {
  await using model = await startScriptedModel({
    answers: [
      { text: 'I see it.' },
      { toolCalls: [{ name: EYES, arguments: { image_index: 0, question: 'What colour?' } }] },
      { text: 'It is red.' },
      { text: 'I see it again.' },
    ],
  })
  await using other = await startScriptedModel({ answers: [{ text: 'Red.' }] })
  await using server = await startTestServer()
  await server.call('POST', '/api/profiles/spare', {
    llm: { model: 'openai/spare', base_url: `${other.url}/v1`, api_key: 'spare-key-123' },
  })
  const image = {
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'image', image_urls: [PNG] },
    ],
  }
  const client_tools = [{ name: 'note', description: 'Notes.', parameters: { type: 'object', properties: {} } }]
  const request = { client_tools, initial_message: image }
  const task = await start(server, starting(model, server.dir.file('work'), request))
  const finished = (count: number) =>
    expect.poll(async () => (await task.kinds('MessageEvent')).length, { timeout: 30_000 }).toBe(count)
  await finished(2)
  await task.is('finished')

  const to = async (name: string) => {
    const { status } = await task.post('switch_llm', { llm: llmOf(model, { model: name, usage_id: name }) })
    expect(status).toBe(200)
  }
  await to('openai/deepseek-chat')
  await task.say('What colour is it?')
  await finished(4)
  await task.is('finished')
  await to('openai/scripted')
  await task.say('And you?')
  await finished(6)

  expect(model.requests.map((asked) => toolsOf(asked).includes(EYES))).toEqual([false, true, true, false])
  const [seeing, blind, , again] = model.requests.map(toolsOf)
  expect(blind!.filter((name) => name !== EYES)).toEqual(seeing)
  expect(again).toEqual(seeing)
  // Where the tool would stand had the agent been opened with this model.
  expect(blind!.slice(-2)).toEqual([EYES, 'note'])
  expect(model.requests[1]!.text).toContain(`[Image 0: ask ${EYES} about it.]`)
  expect(other.requests[0]!.text).toContain(PNG)
  expect((await task.kinds('ObservationEvent')).map(({ observation }) => observation.answer)).toEqual(['Red.'])
  expect(await task.kinds('ConversationErrorEvent')).toEqual([])
}, 120_000)

test('a model without vision reports this only when no profile has vision', async () => {
  await using model = await startScriptedModel({ answers: [{ text: 'hello' }, { text: 'no' }] })
  await using server = await startTestServer()
  const task = await start(server, starting(model, server.dir.file('work'), { initial_message: message('hello') }))
  await task.is('finished')
  await task.post('switch_llm', { llm: llmOf(model, { model: 'openai/deepseek-chat' }) })
  await task.say('Still there?')
  await expect.poll(() => model.requests.length, { timeout: 30_000 }).toBe(2)
  expect(toolsOf(model.requests[1]!)).not.toContain(EYES)
}, 60_000)
