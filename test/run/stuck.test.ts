import { expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { message, start, starting } from '../../packages/server/testing/conversations.ts'
import { verifies } from '../verifies.ts'

const again: ScriptedAnswer = { toolCalls: [{ name: 'terminal', arguments: { command: 'date; echo pid $$; false' } }] }
const failing: ScriptedAnswer = { toolCalls: [{ name: 'no_such_tool', arguments: { x: 1 } }] }

verifies(
  ['seed.conversation-info.stuck_detection.meaning'],
  'an agent that repeats itself is stuck, the log says why, and a message or another run lets it try further',
  async () => {
    await using model = await startScriptedModel({
      respond: ({ text }) => (text.includes('do something else') ? { text: 'done' } : again),
    })
    await using server = await startTestServer()
    const work = server.dir.file('work')
    const task = await start(server, starting(model, work, { initial_message: message('go') }))
    await task.is('stuck', 'error')
    expect((await task.info()).execution_status).toBe('stuck')
    expect(await task.kinds('ObservationEvent')).toHaveLength(4)
    expect((await task.kinds('ConversationErrorEvent')).at(-1)).toMatchObject({
      code: 'AgentStuck',
      detail: expect.stringMatching(/same call of terminal 4 times.*repeated_action/),
      classification: { kind: 'agent_action' },
    })

    // Run again: as many tries more, not none.
    await task.post('run')
    await task.is('stuck')
    expect(await task.kinds('ObservationEvent')).toHaveLength(8)
    await task.say('do something else')
    await task.is('finished', 'stuck')
    expect((await task.info()).execution_status).toBe('finished')

    const tireless = await start(
      server,
      starting(model, work, { initial_message: message('go'), stuck_detection: false, max_iterations: 7 }),
    )
    await tireless.is('stuck', 'error')
    expect((await tireless.kinds('ConversationErrorEvent')).at(-1)).toMatchObject({ code: 'MaxIterationsReached' })
  },
)

test('failing calls are pointed out once, and the next failure ends the run as stuck', async () => {
  await using model = await startScriptedModel({ respond: () => failing })
  await using server = await startTestServer()
  const task = await start(server, starting(model, server.dir.file('work'), { initial_message: message('go') }))
  await task.is('stuck', 'error')
  const kinds = (await task.events()).filter(
    ({ kind, source }) => kind === 'AgentErrorEvent' || (kind === 'MessageEvent' && source === 'environment'),
  )
  expect(kinds.map(({ kind }) => kind)).toEqual([
    'AgentErrorEvent',
    'AgentErrorEvent',
    'AgentErrorEvent',
    'MessageEvent',
    'AgentErrorEvent',
  ])
  expect(kinds[3].llm_message.content[0].text).toContain('no_such_tool')
  expect((await task.info()).execution_status).toBe('stuck')
  expect(model.violations).toEqual([])
})
