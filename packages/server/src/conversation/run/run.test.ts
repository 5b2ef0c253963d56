import type { ActionEvent, Draft, EventId, StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { Agent, Step } from '../../agent/index.ts'
import type { Next } from './next.ts'
import { run, type Runnable } from './run.ts'

const FINISHED: Next = { kind: 'stop', status: 'finished', reason: null }
const draft = (text: string): Draft => ({ kind: 'PauseEvent', source: 'user', text }) as unknown as Draft

type Played = {
  moves: readonly Next[]
  agent?: Partial<Agent>
  conversation?: Partial<Runnable>
}

/** Plays moves, the last one again and again, and reports in order what the loop did. */
function playing({ moves, agent = {}, conversation = {} }: Played) {
  const did: string[] = []
  const names = (actions: readonly ActionEvent[]) => actions.map(({ id }) => id).join('+')
  let move = 0
  const record = (what: string) =>
    async function* (): Step {
      did.push(what)
      yield* []
    }
  const runnable: Runnable = {
    agent: {
      think: record('think'),
      condense: record('condense'),
      execute: (actions: readonly ActionEvent[]) => record(`execute ${names(actions)}`)(),
      recover: (actions: readonly ActionEvent[]) => record(`recover ${names(actions)}`)(),
      ...agent,
    } as unknown as Agent,
    atBoundary: () => undefined,
    turn: {} as Runnable['turn'],
    next: () => moves[Math.min(move++, moves.length - 1)]!,
    actions: (ids) => ids.map((id) => ({ id }) as ActionEvent),
    isInherited: () => false,
    commit: async (drafts) => {
      did.push(`commit ${drafts.length}`)
      return drafts.map((event, at) => ({ seq: at + 1, event }) as unknown as StoredEvent)
    },
    expectAccepting: async () => void did.push('accepting'),
    filesRecorded: () => null,
    isUsedUp: async () => false,
    reportFiles: async () => false,
    stepped: () => undefined,
    condensed: (error) =>
      void did.push(error === undefined ? 'condensed' : `not condensed: ${(error as Error).message}`),
    judge: async () => void did.push('judge'),
    mayStop: async ({ status }) => {
      did.push(`may stop ${status}`)
      return true
    },
    conclude: async () => {
      did.push('conclude')
      return true
    },
    ...conversation,
  }
  return { did, runnable }
}

const never = new AbortController().signal
const execute = (...ids: string[]): Next => ({ kind: 'execute', actions: ids.map((id) => ({ id })) as never })

test('the store is asked whether it accepts appends before a model is called, and not before anything else', async () => {
  const moves: Next[] = [{ kind: 'think' }, execute('a'), { kind: 'condense' }, { kind: 'judge' }, FINISHED]
  const { did, runnable } = playing({ moves })
  await run(runnable, never)
  expect(did.join(', ')).toBe(
    'accepting, think, execute a, accepting, condense, condensed, accepting, judge, may stop finished, conclude',
  )
})

test('no model is called after an interrupt that came while the store was asked', async () => {
  for (const kind of ['think', 'condense', 'judge'] as const) {
    const controller = new AbortController()
    const { did, runnable } = playing({
      moves: [{ kind }],
      conversation: { expectAccepting: async () => controller.abort(new Error('interrupted')) },
    })
    await expect(run(runnable, controller.signal)).rejects.toThrow('interrupted')
    expect(did).toEqual([])
  }
})

test('a run that was interrupted before its first move makes none', async () => {
  const { did, runnable } = playing({ moves: [FINISHED] })
  await expect(run(runnable, AbortSignal.abort(new Error('interrupted')))).rejects.toThrow('interrupted')
  expect(did).toEqual([])
})

test('a run continues when a hook keeps it from ending, or when a message arrived before its end was recorded', async () => {
  let [hooks, records] = [0, 0]
  const { did, runnable } = playing({
    moves: [FINISHED],
    conversation: { mayStop: async () => ++hooks > 1, conclude: async () => ++records > 1 },
  })
  await run(runnable, never)
  expect([did, hooks, records]).toEqual([[], 3, 2])
})

test('inherited calls are recovered first, and the others are executed afterwards', async () => {
  const inherited = new Set(['a', 'c'])
  const { did, runnable } = playing({
    moves: [execute('a', 'b', 'c'), execute('b'), FINISHED],
    conversation: { isInherited: (id: EventId) => inherited.has(id) },
  })
  await run(runnable, never)
  expect(did.slice(0, 2)).toEqual(['recover a+c', 'execute b'])
})

test('a run whose view lacks an open call fails, because the step would be repeated without end', async () => {
  for (const isInherited of [true, false]) {
    const { did, runnable } = playing({
      moves: [execute('a', 'b'), FINISHED],
      conversation: { isInherited: () => isInherited, actions: () => [{ id: 'a' } as ActionEvent] },
    })
    await expect(run(runnable, never)).rejects.toThrow('open calls are missing from the view: b')
    expect(did).toEqual([])
  }
})

test('a run whose steps store nothing gives way to other work', async () => {
  let isOver = false
  let moves = 0
  setImmediate(() => void (isOver = true))
  const { runnable } = playing({
    moves: [],
    conversation: { next: () => (isOver || ++moves > 1_000_000 ? FINISHED : execute('a')) },
  })
  await run(runnable, never)
  expect(isOver).toBe(true)
})

test('a step proceeds only after its drafts are stored, and receives the stored events', async () => {
  const got: unknown[] = []
  let isStored = false
  const { runnable } = playing({
    moves: [{ kind: 'think' }, FINISHED],
    agent: {
      async *think(): Step {
        got.push(yield [draft('one')])
        got.push(isStored)
        got.push(yield [draft('two'), draft('three')])
      },
    },
    conversation: {
      commit: async (drafts) => {
        await new Promise((resolve) => setImmediate(resolve))
        isStored = true
        return drafts.map((_, at) => ({ seq: at + 1 }) as StoredEvent)
      },
    },
  })
  await run(runnable, never)
  expect(got).toEqual([[{ seq: 1 }], true, [{ seq: 1 }, { seq: 2 }]])
})

test('a step that ignores its abort is left to end by itself, and is closed', async () => {
  const controller = new AbortController()
  const open = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const { did, runnable } = playing({
    moves: [{ kind: 'think' }],
    agent: {
      async *think(): Step {
        try {
          controller.abort(new Error('interrupted'))
          await open.promise
          yield [draft('too late')]
        } finally {
          closed.resolve()
        }
      },
    },
  })
  await expect(run(runnable, controller.signal)).rejects.toThrow('interrupted')
  open.resolve()
  await closed.promise
  expect(did).toEqual(['accepting'])
})

test('a step whose drafts are not stored is closed, and the run rejects with the reason', async () => {
  let isClosed = false
  const { runnable } = playing({
    moves: [{ kind: 'think' }],
    agent: {
      async *think(): Step {
        try {
          yield [draft('one')]
        } finally {
          isClosed = true
        }
      },
    },
    conversation: { commit: () => Promise.reject(new Error('refused for good')) },
  })
  await expect(run(runnable, never)).rejects.toThrow('refused for good')
  await new Promise((resolve) => setImmediate(resolve))
  expect(isClosed).toBe(true)
})

test('a failed condensation is reported to its requester and ends no run; one that an interrupt ended ends the run', async () => {
  const failing = {
    async *condense(): Step {
      yield* []
      throw new Error('no summary')
    },
  }
  const failed = playing({ moves: [{ kind: 'condense' }, FINISHED], agent: failing })
  await run(failed.runnable, never)
  expect(failed.did).toEqual(['accepting', 'not condensed: no summary', 'may stop finished', 'conclude'])

  const controller = new AbortController()
  const interrupted = playing({
    moves: [{ kind: 'condense' }, FINISHED],
    agent: {
      async *condense(): Step {
        yield* []
        controller.abort(new Error('interrupted'))
        throw new Error('aborted')
      },
    },
  })
  await expect(run(interrupted.runnable, controller.signal)).rejects.toThrow()
  expect(interrupted.did).toEqual(['accepting'])
})

test('a nudge is stored as a message of the service, without a call of the model', async () => {
  const stored: Draft[] = []
  const { runnable } = playing({
    moves: [{ kind: 'nudge', text: 'try something else' }, FINISHED],
    conversation: {
      commit: async (drafts) => {
        stored.push(...drafts)
        return []
      },
    },
  })
  await run(runnable, never)
  expect(stored).toMatchObject([
    { kind: 'MessageEvent', source: 'environment', llm_message: { content: [{ text: 'try something else' }] } },
  ])
})
