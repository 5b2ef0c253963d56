/** Tools with which an agent reaches the saved models of its owner. Source: agent-core.md 8.6. */
import { describe, expect, test } from 'vitest'
import { dataUrl, pngOf } from '../../packages/server/testing/images.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

const PNG = dataUrl('image/png', pngOf({ width: 2, height: 2 }))

const inspect = (args: object): ScriptedAnswer => ({
  toolCalls: [{ name: 'inspect_image_with_vision', arguments: { image_index: 0, question: 'What colour?', ...args } }],
})

/** A conversation whose owner has saved profiles, of which `spare` is another model. */
async function converse(
  own: object,
  agent: object,
  first: readonly ScriptedAnswer[],
  second: readonly ScriptedAnswer[],
  content: object,
) {
  await using model = await startScriptedModel({ answers: first })
  await using other = await startScriptedModel({ answers: second })
  await using server = await startTestServer()
  const save = (name: string, members: object) =>
    server.call('POST', `/api/profiles/${name}`, {
      llm: { base_url: `${other.url}/v1`, api_key: 'spare-key-123', ...members },
    })
  await save('blind', { model: 'openai/deepseek-chat' })
  await save('spare', { model: 'openai/spare' })
  const llm = llmOf(model, own)
  const task = await start(
    server,
    starting(model, server.dir.file('work'), { agent: { llm, ...agent }, initial_message: content }),
  )
  await task.is('finished', 'error', 'stuck')
  const events = await task.events()
  return {
    info: await task.info(),
    results: events.filter(({ kind }) => kind === 'ObservationEvent').map(({ observation }) => observation),
    errors: events.filter(({ kind }) => kind === 'ConversationErrorEvent' || kind === 'AgentErrorEvent'),
    log: JSON.stringify(events),
    first: model.requests,
    second: other.requests,
  }
}

describe('switch_llm', () => {
  const agent = { include_default_tools: ['FinishTool', 'SwitchLLMTool'] }
  const to = (profile_name: string): ScriptedAnswer => ({
    toolCalls: [{ id: `to-${profile_name}`, name: 'switch_llm', arguments: { profile_name, reason: 'asked to' } }],
  })

  test('switch_llm makes a stored profile the model of the next step during a run', async () => {
    const done = await converse({}, agent, [to('spare')], [{ text: 'here' }], message('use spare'))
    expect(done.errors).toEqual([])
    expect(done.info.execution_status).toBe('finished')
    expect(done.results).toMatchObject([
      {
        kind: 'SwitchLLMObservation',
        is_error: false,
        profile_name: 'spare',
        reason: 'asked to',
        active_model: 'openai/spare',
      },
    ])
    expect([done.first.length, done.second.length]).toEqual([1, 1])
    // It knows all that came before.
    expect(done.second[0]!.text).toContain('use spare')
    expect(done.info.agent.llm.model).toBe('openai/spare')
    expect(Object.keys(done.info.stats.usage_to_metrics).toSorted()).toEqual(['default', 'profile:spare'])
    expect(done.log).not.toContain('spare-key-123')
  }, 60_000)

  test('switch_llm with an unknown name lists the profiles', async () => {
    const done = await converse({}, agent, [to('nope'), { text: 'then not' }], [], message('go'))
    expect(done.results).toMatchObject([{ is_error: true }])
    expect(done.results[0].content[0].text).toMatch(/no profile 'nope'; saved are 'blind', 'spare'/)
    expect(done.info.agent.llm.model).toBe('openai/scripted')
  }, 60_000)
})

describe('inspect_image_with_vision', () => {
  const blind = { model: 'openai/deepseek-chat' }
  const look = {
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'image', image_urls: [PNG] },
    ],
  }

  test('inspect_image_with_vision is offered to a model without vision and asks a profile with vision', async () => {
    const done = await converse(blind, {}, [inspect({}), { text: 'It is red.' }], [{ text: 'Red.' }], look)
    expect(done.errors).toEqual([])
    expect(done.info.execution_status).toBe('finished')
    expect(done.results).toMatchObject([
      {
        kind: 'VisionInspectObservation',
        is_error: false,
        image_index: 0,
        answer: 'Red.',
        profile_name: 'spare',
        model: 'openai/spare',
      },
    ])
    expect(done.first[0]!.text).not.toContain(PNG)
    expect(done.first[0]!.text).toContain('[Image 0: ask inspect_image_with_vision about it.]')
    expect(done.second[0]!.text).toContain(PNG)
    expect(done.second[0]!.text).toContain('What colour?')
    expect(done.info.stats.usage_to_metrics['vision-profile:spare'].accumulated_token_usage.prompt_tokens).toBe(100)
  }, 60_000)

  test.each<[string, object, RegExp]>([
    ['an image that there is not', { image_index: 3 }, /no image 3.*only image 0/],
    ['a profile that sees nothing', { profile_name: 'blind' }, /No profile 'blind' that sees.*'spare'/],
  ])(
    'inspect_image_with_vision reports what is wrong with %s',
    async (_name, args, expected) => {
      const done = await converse(blind, {}, [inspect(args), { text: 'I cannot.' }], [], look)
      expect(done.results).toMatchObject([{ is_error: true }])
      expect(done.second).toEqual([])
      expect(done.results[0].content[0].text).toMatch(expected)
    },
    60_000,
  )

  test('inspect_image_with_vision is not offered to a model with vision', async () => {
    const done = await converse({}, {}, [{ text: 'It is red.' }], [], look)
    expect(done.first[0]!.view.tools).not.toContain('inspect_image_with_vision')
    expect(done.first[0]!.text).toContain(PNG)
  }, 60_000)
})
