import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
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
} from '../../packages/server/testing/sub-agent-scripts.ts'

const careful = { name: 'careful', tools: ['terminal'], permission_mode: 'always_confirm' }

describe('an interrupt of a conversation that waits for several sub-agents', () => {
  test('an interrupt starts no sub-agent again, although some end earlier than others', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [tasks(['[asking] x', { subagent_type: 'careful' }], ['[slow] x'], ['[other] x']), finish('never said')],
      asking: [run('true'), finish('never said')],
      slow: [run('sleep 120'), finish('never said')],
      other: [() => new Promise<never>(() => undefined)],
    })
    const it = await start(server, parent(model, server.dir.file('work'), { agent_definitions: [careful] }))
    await it.is('waiting_for_confirmation')
    await until(async () => (await processesOf(server.dir.path, 'sleep 120')).length > 0)
    await until(() => model.requests.length === 4)
    expect((await it.post('interrupt')).status).toBe(200)
    // No further event may arrive after the response of the interrupt.
    const children = await childrenOf(server, it.id)
    const after = await Promise.all(children.map((child) => statuses(child)))
    expect(after.map((of) => of.at(-1)).toSorted()).toEqual(['idle', 'paused', 'paused'])
    for (const of of after)
      expect(of.slice(of.findIndex((status) => status === 'idle' || status === 'paused'))).toHaveLength(1)
    expect(await statuses(it)).toEqual(['running', 'waiting_for_confirmation', 'paused'])
    expect(await it.kinds('AgentErrorEvent')).toHaveLength(3)
    expect(model.requests).toHaveLength(4)
  }, 60_000)
})

describe('after kill -9', () => {
  test('an interrupt at any moment of a restart ends all sub-agents', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [tasks(['[asking] x', { subagent_type: 'careful' }], ['[slow] x']), finish('never said')],
      asking: [run('true'), finish('never said')],
      slow: [run('sleep 120'), finish('never said')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    const first = await startServerProcess({ dataDir, port })
    const request = parent(model, dir.file('work'), { agent_definitions: [careful] })
    const before = await Promise.all(MOMENTS.map(() => start(first, request)))
    await Promise.all(before.map((each) => each.is('waiting_for_confirmation')))
    await until(() => model.requests.length === 3 * MOMENTS.length)
    await until(async () => (await slowCalls(first, before)) === MOMENTS.length)
    await first.kill()

    await using second = await startServerProcess({ dataDir, port })
    const interrupted = before.map(async ({ id }, at) => {
      const it = conversation(second, id)
      await sleep(MOMENTS[at])
      expect((await it.post('interrupt')).status).toBe(200)
      const children = await childrenOf(second, id)
      expect(children.map(({ now }) => now.execution_status).toSorted()).toEqual(['idle', 'paused'])
      expect((await it.info()).execution_status).toBe('paused')
      expect(await it.kinds('AgentErrorEvent')).toHaveLength(2)
      return [...children, it]
    })
    const all = (await Promise.all(interrupted)).flat()
    expect(model.requests, 'no sub-agent worked again').toHaveLength(3 * MOMENTS.length)
    for (const { id } of all) await second.call('DELETE', `/api/conversations/${id}`)
  }, 120_000)

  test('an interrupt that loads a killed conversation reaches all levels below it', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [task('[middle] x', { subagent_type: 'boss' }), finish('never said')],
      middle: [task('[low] x'), finish('never said')],
      low: [run('sleep 120'), finish('never said')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    const first = await startServerProcess({ dataDir, port })
    const boss = { name: 'boss', tools: ['task_tool_set'] }
    const before = await start(first, parent(model, dir.file('work'), { agent_definitions: [boss] }))
    await until(async () => (await processesOf(dataDir, 'sleep 120')).length > 0)
    await first.kill()

    await using second = await startServerProcess({ dataDir, port })
    const it = conversation(second, before.id)
    expect((await it.post('interrupt')).status).toBe(200)
    const [middle] = await childrenOf(second, it.id)
    const [low] = await childrenOf(second, middle!.id)
    const now = await Promise.all([it, middle!, low!].map(async (each) => (await each.info()).execution_status))
    expect(now).toEqual(['paused', 'paused', 'paused'])
    expect(model.requests).toHaveLength(3)
    for (const { id } of [low!, middle!, it]) await second.call('DELETE', `/api/conversations/${id}`)
  }, 120_000)

  test('an interrupt that a kill cuts short is discarded, and all sub-agents continue', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [task('[child] x'), finish('parent done')],
      child: [run('sleep 12'), finish('child done')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    // The first is the sub-agent's own. Its command may still be running or may have ended.
    const first = await startServerProcess({ dataDir, port, crash: { at: 'InterruptEvent', when: 'after' } })
    const before = await start(first, parent(model, dir.file('work')))
    await until(async () => (await processesOf(dataDir, 'sleep 12')).length > 0)
    await before.post('interrupt').catch(() => undefined)
    await first.exited

    await using second = await startServerProcess({ dataDir, port })
    const it = conversation(second, before.id)
    await it.is('finished', 'error')
    const [child] = await childrenOf(second, it.id)
    expect([await statuses(child!), (await it.info()).execution_status]).toEqual([
      ['running', 'paused', 'running', 'finished'],
      'finished',
    ])
    for (const { id } of [child!, it]) await second.call('DELETE', `/api/conversations/${id}`)
  }, 120_000)

  test('after a kill right after a pause, sub-agents rest until the conversation continues', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [task('[child] x'), finish('parent done')],
      child: [run('echo once >> trace; sleep 3'), finish('child done')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    // The first one is the conversation's own.
    const first = await startServerProcess({ dataDir, port, crash: { at: 'PauseEvent', when: 'after' } })
    const before = await start(first, parent(model, dir.file('work')))
    await until(async () => (await processesOf(dataDir, 'sleep 3')).length > 0)
    await before.post('pause').catch(() => undefined)
    await first.exited

    await using second = await startServerProcess({ dataDir, port })
    const it = conversation(second, before.id)
    const [child] = await childrenOf(second, it.id)
    await child!.is('paused', 'finished', 'error')
    expect([(await child!.info()).execution_status, (await it.info()).execution_status]).toEqual(['paused', 'paused'])
    expect((await it.post('run')).status).toBe(200)
    await it.is('finished', 'error')
    expect(await statuses(child!)).toEqual(['running', 'paused', 'running', 'finished'])
    expect(await readFile(dir.file('work', 'trace'), 'utf8')).toBe('once\n')
    for (const { id } of [child!, it]) await second.call('DELETE', `/api/conversations/${id}`)
  }, 120_000)
})

/** Milliseconds after the restart at which one of the conversations each is interrupted. */
const MOMENTS = [0, 0, 20, 60, 150, 400]

/** Number of these whose sub-agent has a command that is recorded as begun. */
async function slowCalls(server: ServerProcess, of: readonly { id: string }[]): Promise<number> {
  const families = await Promise.all(of.map(({ id }) => childrenOf(server, id)))
  const calls = await Promise.all(families.flat().map((child) => child.kinds('ActionEvent')))
  return calls.flat().filter((event) => JSON.stringify(event).includes('sleep 120')).length
}

/** All statuses that a conversation has had, in order. */
async function statuses(of: { kinds(kind: string): Promise<any[]> }): Promise<string[]> {
  const changes = await of.kinds('ConversationStateUpdateEvent')
  return changes.filter(({ key }) => key === 'execution_status').map(({ value }) => value)
}
