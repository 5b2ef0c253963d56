import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation, start } from '../../packages/server/testing/conversations.ts'
import {
  childrenOf,
  finish,
  parent,
  run,
  startScripts,
  task,
  tasks,
  textOf,
} from '../../packages/server/testing/sub-agent-scripts.ts'

/** A sub-agent whose second answer waits until the test opens the gate. */
function gated() {
  const gate = Promise.withResolvers<void>()
  const held = async () => {
    await gate.promise
    return finish('child done')
  }
  return {
    gate,
    scripts: {
      parent: [task('[child] x'), finish('parent done')],
      child: [run('true'), held, finish('child went on')],
    },
  }
}

describe('steering a conversation that waits for sub-agents', () => {
  test('interrupting a conversation interrupts its sub-agents and leaves no call open', async () => {
    await using server = await startTestServer()
    const { gate, scripts } = gated()
    await using model = await startScripts(scripts)
    const it = await start(server, parent(model, server.dir.file('work')))
    await until(() => model.requests.length === 3)
    expect((await it.post('interrupt')).status).toBe(200)
    const [child] = await childrenOf(server, it.id)
    expect((await it.info()).execution_status).toBe('paused')
    expect(child!.now.execution_status).toBe('paused')
    expect(await model.requests[2]!.over).toBe('aborted')
    expect(await child!.kinds('InterruptEvent')).toHaveLength(1)
    expect((await it.kinds('AgentErrorEvent'))[0].error).toContain('interrupted before completion')
    gate.resolve()
  }, 60_000)

  test('interrupting a conversation refuses the pending actions of its sub-agents', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [task('[child] x', { subagent_type: 'careful' })],
      child: [run('touch proof')],
    })
    const careful = { name: 'careful', tools: ['terminal'], permission_mode: 'always_confirm' }
    const it = await start(server, parent(model, server.dir.file('work'), { agent_definitions: [careful] }))
    await it.is('waiting_for_confirmation')
    await it.post('interrupt')
    expect((await it.info()).execution_status).toBe('paused')
    const [child] = await childrenOf(server, it.id)
    await until(async () => (await child!.kinds('UserRejectObservation')).length === 1)
    expect((await child!.info()).execution_status).toBe('idle')
    const { status } = await it.post('events/respond_to_confirmation', { accept: true })
    expect(status, 'nothing waits any more').not.toBe(200)
  }, 60_000)

  test('a paused conversation asks the questions of its sub-agents again when it continues', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [tasks(['[child] x', { subagent_type: 'careful' }], ['[other] x']), finish('parent done')],
      child: [run('touch proof'), finish('child done')],
      other: [finish('other done')],
    })
    const careful = { name: 'careful', tools: ['terminal'], permission_mode: 'always_confirm' }
    const it = await start(server, parent(model, server.dir.file('work'), { agent_definitions: [careful] }))
    await it.is('waiting_for_confirmation')
    await it.post('pause')
    expect((await it.info()).execution_status).toBe('paused')
    await it.post('run')
    await it.is('waiting_for_confirmation')
    expect((await it.post('events/respond_to_confirmation', { accept: true })).status).toBe(200)
    await it.is('finished', 'error')
    expect((await it.kinds('ObservationEvent')).map(textOf).join()).toMatch(/child done[\s\S]*other done/)
  }, 60_000)

  test('pausing a conversation pauses its sub-agents, and running it continues them', async () => {
    await using server = await startTestServer()
    const { gate, scripts } = gated()
    await using model = await startScripts({
      ...scripts,
      child: [run('true'), ...scripts.child.slice(0, 1), scripts.child[1]!],
    })
    const it = await start(server, parent(model, server.dir.file('work')))
    await until(() => model.requests.length >= 2)
    await it.post('pause')
    const [child] = await childrenOf(server, it.id)
    await until(async () => (await child!.info()).execution_status === 'paused')
    expect((await it.info()).execution_status).toBe('paused')
    const navigated = await it.post('navigate', { event_id: null })
    expect([navigated.status, JSON.stringify(navigated.body)]).toEqual([409, expect.stringContaining('Interrupt it')])
    gate.resolve()
    await it.post('run')
    await it.is('finished', 'error')
    expect(textOf((await it.kinds('ObservationEvent'))[0])).toContain('child done')
    expect((await child!.info()).execution_status).toBe('finished')
  }, 60_000)

  test('a paused sub-agent is reported to its parent, which may resume it', async () => {
    await using server = await startTestServer()
    const gate = Promise.withResolvers<void>()
    await using model = await startScripts({
      parent: [task('[child] x'), finish('parent done')],
      child: [
        async () => {
          await gate.promise
          return run('true')
        },
        finish('child'),
      ],
    })
    const it = await start(server, parent(model, server.dir.file('work')))
    await until(() => model.requests.length === 2)
    const [child] = await childrenOf(server, it.id)
    await child!.post('pause')
    gate.resolve()
    await it.is('finished', 'error')
    const [observed] = await it.kinds('ObservationEvent')
    expect(observed.observation).toMatchObject({ is_error: true, status: 'paused' })
    expect(textOf(observed)).toContain(`resume "${observed.observation.task_id}"`)
  }, 60_000)

  test('a paused sub-agent is reported to its parent also while another one asks', async () => {
    await using server = await startTestServer()
    const gate = Promise.withResolvers<void>()
    const held = async () => {
      await gate.promise
      return run('true')
    }
    await using model = await startScripts({
      parent: [tasks(['[asking] x', { subagent_type: 'careful' }], ['[child] x']), finish('parent done')],
      asking: [run('true'), finish('asking done')],
      child: [held, finish('never said')],
    })
    const careful = { name: 'careful', tools: ['terminal'], permission_mode: 'always_confirm' }
    const it = await start(server, parent(model, server.dir.file('work'), { agent_definitions: [careful] }))
    await it.is('waiting_for_confirmation')
    await until(() => model.requests.length === 3)
    const child = (await childrenOf(server, it.id)).find(({ now }) => now.execution_status === 'running')
    await child!.post('pause')
    gate.resolve()
    // A pause by a person is deliberate: the sub-agent stays paused while the other one is answered and ends.
    expect((await it.post('events/respond_to_confirmation', { accept: true })).status).toBe(200)
    await it.is('finished', 'error')
    const ends = (await it.kinds('ObservationEvent')).filter(({ tool_name }) => tool_name === 'task')
    expect(ends.map(({ observation }) => observation.status).toSorted()).toEqual(['completed', 'paused'])
    expect((await child!.info()).execution_status).toBe('paused')
  }, 60_000)

  test('deleting a conversation interrupts its sub-agents, and a deleted sub-agent is reported to its parent', async () => {
    await using server = await startTestServer()
    const hold = () => new Promise<never>(() => undefined)
    await using model = await startScripts({
      parent: [tasks(['[one] x'], ['[two] x']), finish('done')],
      one: [hold],
      two: [hold],
    })
    const it = await start(server, parent(model, server.dir.file('work')))
    await until(() => model.requests.length === 3)
    const [one, two] = await childrenOf(server, it.id)
    expect((await server.call('DELETE', `/api/conversations/${one!.id}`)).status).toBe(200)
    await until(
      async () =>
        (await it.kinds('ObservationEvent')).length === 1 || (await two!.info()).execution_status === 'running',
    )
    expect((await server.call('DELETE', `/api/conversations/${it.id}`)).status).toBe(200)
    await until(async () => (await conversation(server, two!.id).info()).execution_status === 'paused')
  }, 60_000)
})
