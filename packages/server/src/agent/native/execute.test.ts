import { ParleyError, type ActionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { verifies } from '../../../../../test/verifies.ts'
import { diskWorkspace } from '../../../testing/disk-workspace.ts'
import { createLocks, type Tool } from '../../tools/index.ts'
import { thinkTool } from '../../tools/think-tool.ts'
import { Gateway, type GatewayDeps } from '../gateway.ts'
import { CONVERSATION, Driver, never, texts } from './driver.testing.ts'
import { called } from './events.testing.ts'
import { execute } from './execute.ts'
import { recover } from './recover.ts'

/** The think tool, but what happens when it is performed is up to the test. */
function toolThat(
  perform: (thought: string, signal: AbortSignal) => Promise<string>,
  keys: readonly string[] | null = [],
): Tool {
  return {
    ...thinkTool(),
    resources: () => keys,
    perform: async (action, { signal }) => {
      const text = await perform('thought' in action ? String(action.thought) : '', signal)
      return { kind: 'ThinkObservation', content: [{ type: 'text', text, cache_prompt: false }], is_error: false }
    },
  }
}

function bench(tool: Tool, count: number, deps: Partial<GatewayDeps> = {}) {
  const workspace = diskWorkspace('/nowhere')
  const gateway = new Gateway({
    conversationId: CONVERSATION,
    tools: new Map([[tool.name, tool]]),
    workspace,
    dataDir: '/nowhere',
    locks: createLocks(),
    log: { warn: () => undefined, error: () => undefined },
    secretsFor: () => Promise.resolve({}),
    ...deps,
  })
  const driver = new Driver()
  const actions: ActionEvent[] = Array.from({ length: count }, (_, n) => called(`a${n}`, 'r'))
  driver.commit(actions)
  return { gateway, workspace, driver, actions }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

verifies(
  'seed.limits.tool_concurrency_limit',
  'answers come in call order for every limit and every order of completion, and no more run at once',
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
          const { gateway, driver, actions } = bench(tool, turns.length)
          await driver.drive(execute(actions, gateway, limit, driver.turn, never))
          expect(texts(driver.log)).toEqual(actions.map(({ id }) => id))
          expect(driver.of('ObservationEvent').map(({ action_id }) => action_id)).toEqual(actions.map(({ id }) => id))
          expect(most).toBeLessThanOrEqual(limit)
        },
      ),
      { numRuns: 60 },
    )
  },
)

test('an answer is stored while a later call still runs', async () => {
  const second = Promise.withResolvers<string>()
  const { gateway, driver, actions } = bench(
    toolThat((thought) => (thought === 'a1' ? second.promise : Promise.resolve(thought))),
    2,
  )
  const step = execute(actions, gateway, 2, driver.turn, never)
  const first = await step.next([])
  expect(first.value).toMatchObject([{ kind: 'ObservationEvent', action_id: 'a0' }])
  const last = step.next([])
  second.resolve('late')
  expect((await last).value).toMatchObject([{ action_id: 'a1' }])
})

test('calls that need the same thing take turns even when they may run at once', async () => {
  let running = 0
  const tool = toolThat(async (thought) => {
    expect(++running).toBe(1)
    await turn()
    running--
    return thought
  }, null)
  const { gateway, driver, actions } = bench(tool, 4)
  await driver.drive(execute(actions, gateway, 4, driver.turn, never))
  expect(texts(driver.log)).toHaveLength(4)
})

test.each<[string, Error, string]>([
  ['a refusal of the arguments', new ParleyError('invalid_input', 'bad path'), 'agent_action'],
  ['a bug', new TypeError('oops'), 'internal'],
])('%s becomes an answer and the other calls go on', async (_name, error, kind) => {
  const tool = toolThat((thought) => (thought === 'a0' ? Promise.reject(error) : Promise.resolve(thought)))
  const { gateway, driver, actions } = bench(tool, 2)
  await driver.drive(execute(actions, gateway, 1, driver.turn, never))
  expect(texts(driver.log)).toEqual([`Error executing tool 'think': ${error.message}`, 'a1'])
  expect(driver.of('AgentErrorEvent')[0]?.classification?.kind).toBe(kind)
  expect(driver.state.open_actions).toEqual([])
})

test('an abort reaches the call that runs, starts no other, and is thrown', async () => {
  const controller = new AbortController()
  const performed: string[] = []
  const tool = toolThat((thought, signal) => {
    performed.push(thought)
    const { promise, reject } = Promise.withResolvers<string>()
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    return promise
  })
  const { gateway, driver, actions } = bench(tool, 3)
  const driving = driver.drive(execute(actions, gateway, 1, driver.turn, controller.signal))
  await turn()
  controller.abort(new Error('interrupted'))
  await expect(driving).rejects.toThrow('interrupted')
  expect(performed).toEqual(['a0'])
})

test('who closes an agent waits for a call that was called off and is still at something', async () => {
  const controller = new AbortController()
  const writing = Promise.withResolvers<string>()
  let isWritten = false
  const tool = toolThat(async () => {
    const text = await writing.promise
    isWritten = true
    return text
  })
  const { gateway, driver, actions } = bench(tool, 1)
  await gateway.ended()
  const driving = driver.drive(execute(actions, gateway, 1, driver.turn, controller.signal))
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

test('a step that nobody drives any more stops what it started', async () => {
  const stopped = Promise.withResolvers<void>()
  const tool = toolThat((thought, signal) => {
    if (thought === 'a0') return Promise.resolve(thought)
    signal.addEventListener('abort', () => stopped.resolve())
    return new Promise(() => undefined)
  })
  const { gateway, driver, actions } = bench(tool, 2)
  const step = execute(actions, gateway, 2, driver.turn, never)
  await step.next([])
  await step.return(undefined)
  await stopped.promise
})

test('a call that does not end is given up, and keeps what it locked until it ends', async () => {
  const end = Promise.withResolvers<string>()
  const tool = toolThat((thought) => (thought === 'a0' ? end.promise : Promise.resolve(thought)), ['file:x'])
  const { gateway, driver, actions } = bench(tool, 2, { callLimitMs: 5 })
  const driving = driver.drive(execute(actions, gateway, 1, driver.turn, never))
  while (driver.log.length < 3) await turn()
  expect(texts(driver.log)).toEqual([expect.stringMatching(/did not end within .* its effect is not known/)])
  await turn()
  expect(driver.log).toHaveLength(3)
  end.resolve('too late')
  await driving
  expect(texts(driver.log)[1]).toBe('a1')
})

test('a result is cut to what a log can bear', async () => {
  const { gateway, driver, actions } = bench(
    toolThat(() => Promise.resolve('x'.repeat(3_000_000))),
    1,
  )
  await driver.drive(execute(actions, gateway, 1, driver.turn, never))
  expect(texts(driver.log)[0]!.length).toBe(1024 * 1024)
})

test('recovery performs, takes the known result, or says that nobody knows', async () => {
  const performed: string[] = []
  const tool: Tool = {
    ...toolThat((thought) => {
      performed.push(thought)
      return Promise.resolve(`performed ${thought}`)
    }),
    recover: ({ id }, ledger) => {
      if (ledger.state === 'absent') return Promise.resolve({ kind: 'perform' })
      if (ledger.state === 'unknown')
        return id === 'a3' ? Promise.reject(new Error('notes are gone')) : Promise.resolve({ kind: 'unknown' })
      const content = [{ type: 'text' as const, text: 'known', cache_prompt: false }]
      return Promise.resolve({ kind: 'done', observation: { kind: 'ThinkObservation', content, is_error: false } })
    },
  }
  const { gateway, driver, actions } = bench(tool, 4)
  const exited = { state: 'exited' as const, exit_code: 0, signal: null, started_at: '', ended_at: '' }
  const workspace = diskWorkspace('/nowhere', { a1: exited, a2: { state: 'unknown' }, a3: { state: 'unknown' } })
  await driver.drive(recover(actions, { gateway, workspace, limit: 2 }, driver.turn, never))
  expect(performed).toEqual(['a0'])
  expect(texts(driver.log)).toEqual([
    'performed a0',
    'known',
    expect.stringMatching(/not known/),
    expect.stringMatching(/not known/),
  ])
  expect(driver.state.open_actions).toEqual([])
})
