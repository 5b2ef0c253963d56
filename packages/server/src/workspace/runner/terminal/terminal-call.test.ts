import { setImmediate as nextTick } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newReply, terminalSpec } from '../conversation-processes.testing.ts'
import { TerminalCall } from './terminal-call.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A call with a limit, in a terminal that prints nothing before `print` is called. */
function begin(limit: { timeoutMs: number | null; noChangeMs: number }) {
  const passed: string[] = []
  let lastOutputAt = 0
  const call = new TerminalCall(
    { ...terminalSpec('.', 'sleep 1000'), ...limit },
    { lastOutputAt: () => lastOutputAt, onLimit: (which) => passed.push(which) },
  )
  return { call, passed, print: () => void (lastOutputAt = performance.now()) }
}

async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms)
  await nextTick()
}

test('the limit of silence counts from the newest output', async () => {
  const { call, passed, print } = begin({ timeoutMs: null, noChangeMs: 100 })
  call.attend(newReply().reply)
  await pass(60)
  print()
  await pass(99)
  expect(passed).toEqual([])
  await pass(1)
  expect(passed).toEqual(['silence'])
})

test('the limit of silence starts again with a repeated request', async () => {
  const { call, passed } = begin({ timeoutMs: null, noChangeMs: 100 })
  call.attend(newReply().reply)
  await pass(60)
  call.attend(newReply().reply)
  await pass(99)
  expect(passed).toEqual([])
  await pass(1)
  expect(passed).toEqual(['silence'])
})

test('a hard limit counts from the begin of the call, whatever is printed or requested', async () => {
  const { call, passed, print } = begin({ timeoutMs: 100, noChangeMs: 1 })
  call.attend(newReply().reply)
  await pass(60)
  print()
  call.attend(newReply().reply)
  await pass(39)
  expect(passed).toEqual([])
  await pass(1)
  expect(passed).toEqual(['timeout'])
})

test('no limit passes while no request waits, and a hard limit that has passed meanwhile ends the next one at once', async () => {
  const { call, passed } = begin({ timeoutMs: 100, noChangeMs: 1 })
  const { reply } = newReply()
  call.attend(reply)
  call.leave(reply)
  await pass(1_000)
  expect(passed).toEqual([])
  call.attend(newReply().reply)
  await pass(1)
  expect(passed).toEqual(['timeout'])
})

test('a call that ends at the moment of its limit has reached no limit', async () => {
  const { call, passed } = begin({ timeoutMs: 100, noChangeMs: 1 })
  const { reply } = newReply()
  call.attend(reply)
  vi.advanceTimersByTime(100)
  expect(call.end()).toEqual([reply])
  await nextTick()
  expect(passed).toEqual([])
})
