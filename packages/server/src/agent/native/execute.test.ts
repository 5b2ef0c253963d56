import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { asConversationId, ParleyError, type ActionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { verifies } from '../../../../../test/verifies.ts'
import { diskWorkspace } from '../../../testing/disk-workspace.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { createLocks, type Tool } from '../../tools/index.ts'
import { thinkTool } from '../../tools/think-tool.ts'
import { ToolGateway, type ToolGatewayDeps } from '../gateway/tool-gateway.ts'
import { CONVERSATION, StepDriver, never, texts } from './step-driver.testing.ts'
import { callEvent } from '../view/events.testing.ts'
import { execute, resultsInOrder } from './execute.ts'
import { recover } from './recover.ts'

/** The think tool with an implementation of the test. */
function toolThat(
  perform: (thought: string, signal: AbortSignal) => Promise<string>,
  keys: readonly string[] | null = [],
): Tool {
  return {
    ...thinkTool(),
    resources: () => keys,
    execute: async (action, { signal }) => {
      const text = await perform('thought' in action ? String(action.thought) : '', signal)
      return { kind: 'ThinkObservation', content: [{ type: 'text', text, cache_prompt: false }], is_error: false }
    },
  }
}

function openGateway(tool: Tool, count: number, deps: Partial<ToolGatewayDeps> = {}) {
  const workspace = diskWorkspace('/nowhere')
  const gateway = new ToolGateway({
    conversationId: CONVERSATION,
    tools: new Map([[tool.name, tool]]),
    workspace,
    dataDir: '/nowhere',
    locks: createLocks(),
    confirm: async (signal) => signal.throwIfAborted(),
    log: { warn: () => undefined, error: () => undefined },
    secretsFor: () => Promise.resolve({}),
    ...deps,
  })
  const driver = new StepDriver()
  const actions: ActionEvent[] = Array.from({ length: count }, (_, n) => callEvent(`a${n}`, 'r'))
  driver.commit(actions)
  return { gateway, workspace, driver, actions }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

verifies(
  'seed.limits.tool_concurrency_limit',
  'results are stored in call order for every limit and order of completion, and no more calls than the limit run at once',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.nat(4), { minLength: 1, maxLength: 6 }),
        async (limit, turns) => {
          let running = 0
          let most = 0
          const tool = toolThat(async (thought) => {
            most = Math.max(most, ++running)
            for (let n = 0; n < turns[Number(thought.slice(1))]!; n++) await turn()
            running--
            return thought
          })
          const { gateway, driver, actions } = openGateway(tool, turns.length)
          await driver.drive(execute(actions, gateway, limit, driver.context, never))
          expect(texts(driver.log)).toEqual(actions.map(({ id }) => id))
          expect(driver.of('ObservationEvent').map(({ action_id }) => action_id)).toEqual(actions.map(({ id }) => id))
          expect(most).toBeLessThanOrEqual(limit)
        },
      ),
      { numRuns: 60 },
    )
  },
)

test('a result is stored while a later call still runs', async () => {
  const second = Promise.withResolvers<string>()
  const { gateway, driver, actions } = openGateway(
    toolThat((thought) => (thought === 'a1' ? second.promise : Promise.resolve(thought))),
    2,
  )
  const step = execute(actions, gateway, 2, driver.context, never)
  const first = await step.next([])
  expect(first.value).toMatchObject([{ kind: 'ObservationEvent', action_id: 'a0' }])
  const last = step.next([])
  second.resolve('late')
  expect((await last).value).toMatchObject([{ action_id: 'a1' }])
})

test('calls that need the same resource run one after the other', async () => {
  let running = 0
  const tool = toolThat(async (thought) => {
    expect(++running).toBe(1)
    await turn()
    running--
    return thought
  }, null)
  const { gateway, driver, actions } = openGateway(tool, 4)
  await driver.drive(execute(actions, gateway, 4, driver.context, never))
  expect(texts(driver.log)).toHaveLength(4)
})

test.each([
  ['terminals of two conversations in one directory run at the same time', 'terminal:main', 2],
  ['edits of one file by two conversations in one directory run one after the other', 'file:/projects/a', 1],
])('%s (F68)', async (_, key, atOnce) => {
  let running = 0
  let most = 0
  const ends = Promise.withResolvers<void>()
  const tool = toolThat(
    async (thought) => {
      most = Math.max(most, ++running)
      if (most === atOnce) ends.resolve()
      await ends.promise
      await turn()
      running--
      return thought
    },
    [key],
  )
  const locks = createLocks()
  const other = asConversationId('00000000-0000-4000-8000-000000000001')
  const benches = [openGateway(tool, 1, { locks }), openGateway(tool, 1, { locks, conversationId: other })]
  const driving = ({ gateway, driver, actions }: ReturnType<typeof openGateway>) =>
    driver.drive(execute(actions, gateway, 1, driver.context, never))
  await Promise.all(benches.map(driving))
  expect(most).toBe(atOnce)
})

test('an abort during the hook after a call is thrown, and gives no result', async () => {
  const controller = new AbortController()
  const hooks = {
    before: () => Promise.resolve({ blocked: null, drafts: [] }),
    after: () => {
      controller.abort(new Error('interrupted'))
      return Promise.reject(new Error('the hook was stopped'))
    },
  }
  const { gateway, driver, actions } = openGateway(
    toolThat((thought) => Promise.resolve(thought)),
    1,
    { hooks },
  )
  await expect(driver.drive(execute(actions, gateway, 1, driver.context, controller.signal))).rejects.toThrow('stopped')
  expect(driver.of('ObservationEvent')).toEqual([])
  expect(driver.of('AgentErrorEvent')).toEqual([])
})

test.each<[string, Error, string]>([
  ['an error about arguments', new ParleyError('invalid_input', 'bad path'), 'agent_action'],
  ['an internal error of a tool', new TypeError('oops'), 'internal'],
])('%s becomes the result of its call, and the other calls run on', async (_name, error, kind) => {
  const tool = toolThat((thought) => (thought === 'a0' ? Promise.reject(error) : Promise.resolve(thought)))
  const { gateway, driver, actions } = openGateway(tool, 2)
  await driver.drive(execute(actions, gateway, 1, driver.context, never))
  expect(texts(driver.log)).toEqual([`Error executing tool 'think': ${error.message}`, 'a1'])
  expect(driver.of('AgentErrorEvent')[0]?.classification?.kind).toBe(kind)
  expect(driver.state.open_actions).toEqual([])
})

test('an abort of a step reaches the running call, starts no other, and is thrown', async () => {
  const controller = new AbortController()
  const executed: string[] = []
  const tool = toolThat((thought, signal) => {
    executed.push(thought)
    const { promise, reject } = Promise.withResolvers<string>()
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    return promise
  })
  const { gateway, driver, actions } = openGateway(tool, 3)
  const driving = driver.drive(execute(actions, gateway, 1, driver.context, controller.signal))
  await turn()
  controller.abort(new Error('interrupted'))
  await expect(driving).rejects.toThrow('interrupted')
  await turn()
  await turn()
  expect(executed).toEqual(['a0'])
})

test('after an abort no work begins, not even with an aborted signal', async () => {
  const begun: ActionEvent[] = []
  const aborting = new AbortController()
  const work = (event: ActionEvent) => {
    begun.push(event)
    aborting.abort(new Error('cancelled'))
    return []
  }
  const actions = [callEvent('a1', 'r'), callEvent('a2', 'r')]
  const step = resultsInOrder(actions, work, 1, aborting.signal)
  await expect(step.next([]).then(() => step.next([]))).rejects.toThrow('cancelled')
  expect(begun).toEqual([actions[0]])
})

test('closing an agent waits for an aborted call that still runs', async () => {
  const controller = new AbortController()
  const writing = Promise.withResolvers<string>()
  let isWritten = false
  const tool = toolThat(async () => {
    const text = await writing.promise
    isWritten = true
    return text
  })
  const { gateway, driver, actions } = openGateway(tool, 1)
  await gateway.ended()
  const driving = driver.drive(execute(actions, gateway, 1, driver.context, controller.signal))
  await turn()
  controller.abort(new Error('deleted'))
  const ended = gateway.ended()
  let isEnded = false
  void ended.then(() => (isEnded = true))
  await turn()
  expect(isEnded).toBe(false)
  writing.resolve('late')
  await ended
  expect(isWritten).toBe(true)
  await Promise.allSettled([driving])
  await gateway.ended()
})

test('abandoning a step aborts the calls that it started', async () => {
  const stopped = Promise.withResolvers<void>()
  const tool = toolThat((thought, signal) => {
    if (thought === 'a0') return Promise.resolve(thought)
    signal.addEventListener('abort', () => stopped.resolve())
    return new Promise(() => undefined)
  })
  const { gateway, driver, actions } = openGateway(tool, 2)
  const step = execute(actions, gateway, 2, driver.context, never)
  await step.next([])
  await step.return(undefined)
  await stopped.promise
})

test('a call over its time limit fails, and keeps its locks until it ends', async () => {
  const end = Promise.withResolvers<string>()
  const tool = toolThat((thought) => (thought === 'a0' ? end.promise : Promise.resolve(thought)), ['file:x'])
  const { gateway, driver, actions } = openGateway(tool, 2, { callLimitMs: 5 })
  const driving = driver.drive(execute(actions, gateway, 1, driver.context, never))
  while (driver.log.length < 3) await turn()
  expect(texts(driver.log)).toEqual([expect.stringMatching(/did not end within .* its effect is not known/)])
  await turn()
  expect(driver.log).toHaveLength(3)
  end.resolve('too late')
  await driving
  expect(texts(driver.log)[1]).toBe('a1')
})

test('a result that arrived while the process was stopped beyond the time limit is kept', async () => {
  const tool = toolThat(async () => {
    const child = spawn('echo', ['late'], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child, 'spawn')
    // As a stop of the whole process does, this keeps timers from firing and pipes from being read.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_300)
    return text(child.stdout)
  })
  const { gateway, driver, actions } = openGateway(tool, 1, { callLimitMs: 200 })
  await driver.drive(execute(actions, gateway, 1, driver.context, never))
  expect(texts(driver.log)).toEqual(['late\n'])
})

test('a result is cut to the stored length before it enters the log', async () => {
  const { gateway, driver, actions } = openGateway(
    toolThat(() => Promise.resolve('x'.repeat(3_000_000))),
    1,
  )
  await driver.drive(execute(actions, gateway, 1, driver.context, never))
  expect(texts(driver.log)[0]!.length).toBe(1024 * 1024)
})

test('recovery executes a call, takes its known result, or closes it as unknown', async () => {
  const executed: string[] = []
  const tool: Tool = {
    ...toolThat((thought) => {
      executed.push(thought)
      return Promise.resolve(`executed ${thought}`)
    }),
    recover: ({ id }, ledger) => {
      if (ledger.state === 'absent') return Promise.resolve({ kind: 'execute' })
      if (ledger.state === 'unknown')
        return id === 'a3' ? Promise.reject(new Error('notes are gone')) : Promise.resolve({ kind: 'unknown' })
      const content = [{ type: 'text' as const, text: 'known', cache_prompt: false }]
      return Promise.resolve({ kind: 'done', observation: { kind: 'ThinkObservation', content, is_error: false } })
    },
  }
  const { gateway, driver, actions } = openGateway(tool, 4)
  const exited = { state: 'exited' as const, exit_code: 0, signal: null, started_at: '', ended_at: '' }
  const workspace = diskWorkspace('/nowhere', { a1: exited, a2: { state: 'unknown' }, a3: { state: 'unknown' } })
  await driver.drive(recover(actions, { gateway, workspace, limit: 2 }, driver.context, never))
  expect(executed).toEqual(['a0'])
  expect(texts(driver.log)).toEqual([
    'executed a0',
    'known',
    expect.stringMatching(/not known/),
    expect.stringMatching(/not known/),
  ])
  expect(driver.state.open_actions).toEqual([])
})

test('recovery refuses a call that a hook blocked with the reason of the hook, and removes the block', async () => {
  const executed: string[] = []
  const tool = toolThat((thought) => {
    executed.push(thought)
    return Promise.resolve(thought)
  })
  const { gateway, workspace, driver, actions } = openGateway(tool, 2)
  driver.state = { ...driver.state, blocked_actions: { a0: 'not that' } }
  await driver.drive(recover(actions, { gateway, workspace, limit: 1 }, driver.context, never))
  expect(executed).toEqual(['a1'])
  expect(texts(driver.log)).toEqual(['not that', 'a1'])
  expect(driver.state).toMatchObject({ blocked_actions: {}, open_actions: [] })
})

test('a call begins, and is looked for after a restart, only once the process may begin effects', async () => {
  const order: string[] = []
  const may = Promise.withResolvers<void>()
  const confirm = async () => {
    order.push('asked')
    await may.promise
  }
  const tool: Tool = {
    ...toolThat(async (thought) => {
      order.push(`executed ${thought}`)
      return thought
    }),
    recover: async () => {
      order.push('recovered')
      return { kind: 'execute' }
    },
  }
  const { gateway, workspace, driver, actions } = openGateway(tool, 2, { confirm })
  const [first, second] = actions as [ActionEvent, ActionEvent]
  const executed = driver.drive(execute([first], gateway, 1, driver.context, never))
  const recovered = gateway.recover(second, (await workspace.ledger(['a1'], never))['a1']!, driver.state, never)
  await turn()
  expect(order).toEqual(['asked', 'asked'])
  may.resolve()
  await Promise.all([executed, recovered])
  expect(order.slice(2).toSorted()).toEqual(['executed a0', 'recovered'])
})

test('a policy that becomes stricter while a call waits for the permission to begin effects holds the call', async () => {
  let mayBegin = true
  const tool = toolThat((thought) => Promise.resolve(thought))
  const confirm = async () => {
    mayBegin = false
  }
  const { gateway, driver, actions } = openGateway(tool, 1, { confirm })
  expect(await gateway.execute(actions[0]!, driver.state, never, () => mayBegin)).toEqual({ kind: 'held' })
})

test('a call that an outage of the store fails has no result: neither an error, nor an unknown outcome when it is recovered', async () => {
  const failing = toolThat(() => Promise.reject(diskFull()))
  const first = openGateway(failing, 1)
  const executing = first.driver.drive(execute(first.actions, first.gateway, 1, first.driver.context, never))
  await expect(executing).rejects.toThrow('disk is full')
  const second = openGateway({ ...failing, recover: () => Promise.reject(diskFull()) }, 1)
  const { gateway, workspace, driver, actions } = second
  const recovering = driver.drive(recover(actions, { gateway, workspace, limit: 1 }, driver.context, never))
  await expect(recovering).rejects.toThrow('disk is full')
  expect([first.driver.commits, driver.commits]).toEqual([[['ActionEvent']], [['ActionEvent']]])
})
