import { newEventId, type ActionEvent, type Draft } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { Agent } from '../../agent/index.ts'
import type { Next } from './next.ts'
import { run, type Runnable } from './run.ts'

const never = new AbortController().signal
const EXECUTE: Next = {
  kind: 'execute',
  actions: [{ id: newEventId(), seq: 1, tool_call_id: 'c', tool_name: 't', llm_response_id: 'r' } as never],
}
const stop = (status: 'paused' | 'finished'): Next => ({ kind: 'stop', status, reason: null })

/** A conversation whose files take until `recorded.resolve` to be recorded. */
function conversationWith(next: () => Next) {
  const recorded = Promise.withResolvers<void>()
  const trace: string[] = []
  const agent = {
    async *think() {
      trace.push('asked')
      yield [] as Draft[]
    },
    async *execute() {
      trace.push('executed')
      yield [] as Draft[]
    },
  } as unknown as Agent
  const conversation: Runnable = {
    agent,
    atBoundary: () => undefined,
    turn: {} as never,
    next,
    actions: (ids) => ids.map((id) => ({ id }) as ActionEvent),
    isInherited: () => false,
    commit: async () => [],
    expectAccepting: async () => undefined,
    filesRecorded: () => {
      trace.push('waits')
      return recorded.promise
    },
    isUsedUp: async () => false,
    reportFiles: async () => false,
    stepped: () => undefined,
    condensed: () => undefined,
    judge: async () => undefined,
    mayStop: async () => true,
    conclude: async () => {
      trace.push('concluded')
      return true
    },
  }
  return { conversation, recorded, trace }
}

test('no call begins, and no run ends, before the files are recorded', async () => {
  const moves = [EXECUTE, EXECUTE, stop('finished'), stop('finished')]
  const { conversation, recorded, trace } = conversationWith(() => moves.shift()!)
  const ended = run(conversation, never)
  await new Promise((resolve) => setImmediate(resolve))
  expect(trace).toEqual(['waits'])
  recorded.resolve()
  await ended
  expect(trace).toEqual(['waits', 'executed', 'waits', 'concluded'])
})

test('a call does not begin when a pause was stored while the files were recorded', async () => {
  let status: Next = EXECUTE
  const { conversation, recorded, trace } = conversationWith(() => status)
  const ended = run(conversation, never)
  await new Promise((resolve) => setImmediate(resolve))
  status = stop('paused')
  recorded.resolve()
  await ended
  expect(trace).toEqual(['waits', 'concluded'])
})

test('the next move is decided again after changed files were reported, before the model is asked', async () => {
  const moves: Next[] = [{ kind: 'think' }, { kind: 'think' }, stop('paused'), stop('paused')]
  const { conversation, recorded, trace } = conversationWith(() => moves.shift()!)
  let reports = 1
  conversation.reportFiles = async () => {
    trace.push('reports')
    return reports-- > 0
  }
  recorded.resolve()
  await run(conversation, never)
  expect(trace).toEqual(['reports', 'reports', 'asked', 'waits', 'concluded'])
})
