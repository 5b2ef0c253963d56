import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation, start } from '../../packages/server/testing/conversations.ts'
import {
  childrenOf,
  costsOf,
  finish,
  parent,
  PRICE,
  run,
  startScripts,
  task,
  tasks,
  textOf,
} from '../../packages/server/testing/sub-agent-scripts.ts'

const careful = { name: 'careful', tools: ['terminal'], permission_mode: 'always_confirm' }
const thrifty = { name: 'thrifty', tools: ['terminal'], max_budget_per_run: 2 * PRICE }

/** A command that ends when the file `go` exists. */
const SLOW = 'echo slow >> trace; until [ -e go ]; do sleep 0.05; done; echo slept'

describe('kill -9 of the server', () => {
  test('kill -9 with three sub-agents at work: a pending question, a command and a used-up budget survive', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [
        tasks(
          ['[asking] x', { subagent_type: 'careful' }],
          ['[slow] x'],
          ['[spending] x', { subagent_type: 'thrifty' }],
        ),
        finish('parent done'),
      ],
      asking: [run('echo asked >> trace'), finish('asking done')],
      slow: [run(SLOW), finish('slow done')],
      spending: [run('echo spent >> trace'), run('echo spent >> trace'), finish('never said')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    const first = await startServerProcess({ dataDir, port })
    const request = parent(model, dir.file('work'), { agent_definitions: [careful, thrifty] })
    const before = await start(first, request)
    await before.is('waiting_for_confirmation')
    await until(async () => (await traceOf(dir)).includes('slow'))
    await until(async () => (await childrenOf(first, before.id)).some(({ now }) => now.execution_status === 'paused'))
    await first.kill()

    await using second = await startServerProcess({ dataDir, port })
    const it = conversation(second, before.id)
    await writeFile(dir.file('work', 'go'), '')
    const [asking, slow, spending] = await inOrder(second, it.id)
    await until(async () => (await slow!.info()).execution_status === 'finished', 30_000)
    // Nothing is decided by a restart.
    expect((await it.info()).execution_status).toBe('waiting_for_confirmation')
    expect((await asking!.info()).execution_status).toBe('waiting_for_confirmation')
    expect((await it.post('events/respond_to_confirmation', { accept: true })).status).toBe(200)
    await it.is('finished', 'error')

    const results = (await it.kinds('ObservationEvent')).filter(({ tool_name }) => tool_name === 'task')
    expect(results.map(({ observation }) => observation.is_error)).toEqual([false, false, true])
    expect(textOf(results[0])).toContain('asking done')
    expect(textOf(results[1])).toContain('slow done')
    expect(textOf(results[2])).toContain('budget of 0.02 US dollars is used up')
    expect(await childrenOf(second, it.id)).toHaveLength(3)
    expect((await traceOf(dir)).split('\n').toSorted().join(' ').trim()).toBe('asked slow spent spent')
    const costs = await Promise.all([asking, slow, spending].map(async (child) => costsOf(await child!.info()).total))
    expect(costs).toEqual([2 * PRICE, 2 * PRICE, 2 * PRICE])
    expect(costsOf(await it.info()).total).toBe(8 * PRICE)
    expect(model.requests).toHaveLength(8)
    await second.call('DELETE', `/api/conversations/${it.id}`)
  }, 120_000)

  test('an interrupt after kill -9 reaches running sub-agents and the one with a pending question', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [tasks(['[asking] x', { subagent_type: 'careful' }], ['[slow] x']), finish('never said')],
      asking: [run('echo asked >> trace')],
      slow: [run('sleep 120')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    const first = await startServerProcess({ dataDir, port })
    const before = await start(first, parent(model, dir.file('work'), { agent_definitions: [careful] }))
    await before.is('waiting_for_confirmation')
    await until(async () => (await processesOf(dataDir, 'sleep 120')).length > 0)
    await first.kill()

    await using second = await startServerProcess({ dataDir, port })
    const it = conversation(second, before.id)
    expect((await it.post('interrupt')).status).toBe(200)
    expect((await it.info()).execution_status).toBe('paused')
    const rests = async () => {
      const statuses = (await childrenOf(second, it.id)).map(({ now }) => now.execution_status).toSorted()
      return statuses.join() === 'idle,paused'
    }
    await until(rests)
    const errors = await it.kinds('AgentErrorEvent')
    expect(errors).toHaveLength(2)
    for (const child of await childrenOf(second, it.id)) await second.call('DELETE', `/api/conversations/${child.id}`)
    await second.call('DELETE', `/api/conversations/${it.id}`)
  }, 120_000)

  test('an answer given right before kill -9 reaches the sub-agent that asked', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [task('[child] x', { subagent_type: 'careful' }), finish('parent done')],
      child: [run('echo once >> trace'), finish('child done')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    const first = await startServerProcess({ dataDir, port, crash: { at: 'ApprovalEvent', when: 'after' } })
    const before = await start(first, parent(model, dir.file('work'), { agent_definitions: [careful] }))
    await before.is('waiting_for_confirmation')
    await before.post('events/respond_to_confirmation', { accept: true }).catch(() => undefined)
    await first.exited

    await using second = await startServerProcess({ dataDir, port })
    const it = conversation(second, before.id)
    await it.is('finished', 'error')
    expect((await it.info()).execution_status).toBe('finished')
    expect(await readFile(dir.file('work', 'trace'), 'utf8')).toBe('once\n')
    await second.call('DELETE', `/api/conversations/${it.id}`)
  }, 120_000)

  test('sub-agents continue after kill -9 as after a stop, and nothing is recorded that did not happen', async () => {
    await using dir = await tempDir()
    await using model = await startScripts({
      parent: [tasks(['[asking] x', { subagent_type: 'careful' }], ['[slow] x']), finish('parent done')],
      asking: [run('echo asked >> trace'), finish('asking done')],
      slow: [run(SLOW), finish('slow done')],
    })
    const dataDir = dir.file('data')
    const port = await freePort()
    const first = await startServerProcess({ dataDir, port })
    const before = await start(first, parent(model, dir.file('work'), { agent_definitions: [careful] }))
    await before.is('waiting_for_confirmation')
    await until(async () => (await traceOf(dir)).includes('slow'))
    await first[Symbol.asyncDispose]()

    await using second = await startServerProcess({ dataDir, port })
    const it = conversation(second, before.id)
    expect((await it.info()).execution_status).toBe('waiting_for_confirmation')
    expect(await it.kinds('AgentErrorEvent')).toEqual([])
    await writeFile(dir.file('work', 'go'), '')
    expect((await it.post('events/respond_to_confirmation', { accept: true })).status).toBe(200)
    await it.is('finished', 'error')
    const results = (await it.kinds('ObservationEvent')).filter(({ tool_name }) => tool_name === 'task')
    expect(results.map(({ observation }) => observation.is_error)).toEqual([false, false])
    expect((await traceOf(dir)).split('\n').toSorted().join(' ').trim()).toBe('asked slow')
    for (const child of await childrenOf(second, it.id)) expect(await child.kinds('InterruptEvent')).toEqual([])
    await second.call('DELETE', `/api/conversations/${it.id}`)
  }, 120_000)
})

const traceOf = (dir: TempDir): Promise<string> => readFile(dir.file('work', 'trace'), 'utf8').catch(() => '')

/** The sub-agents in the order of the tasks. */
async function inOrder(server: ServerProcess, id: string) {
  const children = await childrenOf(server, id)
  const at = await Promise.all(
    children.map(async (child) => {
      const [prompt] = (await child.kinds('MessageEvent')).filter(({ source }) => source === 'user')
      return ['[asking]', '[slow]', '[spending]'].findIndex((marker) => JSON.stringify(prompt).includes(marker))
    }),
  )
  return at.map((_, index) => children[at.indexOf(index)])
}
