import { once } from 'node:events'
import { request, type ClientRequest } from 'node:http'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { until } from '../../testing/until.ts'
import { onSilence } from './silence.ts'
import { timeLimit, timeoutSignal } from './time-limit.ts'

/** Keeps this thread from running, as a stop of the process does. */
const freeze = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const eventLoopTurn = () => new Promise((resolve) => setImmediate(resolve))

test('a time limit passes after its time, and never after it was disposed', async () => {
  let passed = 0
  timeLimit(1, () => void (passed += 1))
  timeLimit(1, () => void (passed += 100))[Symbol.dispose]()
  await until(() => passed > 0)
  expect(passed).toBe(1)
})

test('a limit longer than the longest timer does not pass at once', async () => {
  const signal = timeoutSignal(2 ** 40)
  await eventLoopTurn()
  await eventLoopTurn()
  expect(signal.aborted).toBe(false)
})

test('a signal aborts with a TimeoutError when its time has passed', async () => {
  const signal = timeoutSignal(1)
  await until(() => signal.aborted)
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
})

test('a limit that passed while the process did not run is extended, so that what arrived can be read', async () => {
  let passed = 0
  using _limit = timeLimit(10, () => void (passed += 1))
  freeze(1_300)
  for (let turn = 0; turn < 20; turn += 1) await eventLoopTurn()
  expect(passed).toBe(0)
})

/** Positions of the flags that this thread shares with `startAnswering`. */
const [MAY_ANSWER, HAS_ANSWERED] = [0, 1]

/** A server in another thread that reports its port and answers `ms` milliseconds after a request came and `MAY_ANSWER` was set. */
async function startAnswering(ms: number): Promise<AsyncDisposable & { port: number; flags: Int32Array }> {
  const flags = new Int32Array(new SharedArrayBuffer(8))
  const code = `
    const { parentPort, workerData: flags } = require('node:worker_threads')
    const answered = () => (Atomics.store(flags, ${HAS_ANSWERED}, 1), Atomics.notify(flags, ${HAS_ANSWERED}))
    const server = require('node:http').createServer((_, response) => {
      Atomics.wait(flags, ${MAY_ANSWER}, 0)
      setTimeout(() => response.end('answer', answered), ${ms})
    })
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`
  const worker = new Worker(code, { eval: true, workerData: flags })
  const [port] = (await once(worker, 'message')) as [number]
  return { port, flags, [Symbol.asyncDispose]: async () => void (await worker.terminate()) }
}

function letAnswer(flags: Int32Array): void {
  Atomics.store(flags, MAY_ANSWER, 1)
  Atomics.notify(flags, MAY_ANSWER)
}

/** Resolves when a request has left this thread. */
async function whenSent(sent: ClientRequest): Promise<void> {
  sent.end()
  const [socket] = await once(sent, 'socket')
  if (socket.connecting) await once(socket, 'connect')
  await eventLoopTurn()
  await eventLoopTurn()
}

test('an answer that arrived while the process did not run counts, however short that was', async () => {
  await using server = await startAnswering(0)
  const sent = request({ port: server.port, host: '127.0.0.1' })
  await whenSent(sent)
  let passed = 0
  using limit = timeLimit(10, () => void (passed += 1))
  sent.once('response', () => limit[Symbol.dispose]())
  letAnswer(server.flags)
  Atomics.wait(server.flags, HAS_ANSWERED, 0)
  freeze(50)
  const [response] = await once(sent, 'response')
  expect([response.statusCode, passed]).toEqual([200, 0])
  response.resume()
})

test('an answer that arrived while the process did not run is no silence, and a missing answer is', async () => {
  await using quick = await startAnswering(300)
  letAnswer(quick.flags)
  const sent = request({ port: quick.port, host: '127.0.0.1', timeout: 600 })
  let silences = 0
  onSilence(sent, () => void (silences += 1))
  await whenSent(sent)
  freeze(1_000)
  const [response] = await once(sent, 'response')
  expect([response.statusCode, silences]).toEqual([200, 0])
  response.resume()

  await using slow = await startAnswering(60_000)
  letAnswer(slow.flags)
  const waiting = request({ port: slow.port, host: '127.0.0.1', timeout: 50 }).on('error', () => undefined)
  onSilence(waiting, () => waiting.destroy(new Error('silent')))
  waiting.end()
  const [error] = await once(waiting, 'error')
  expect(error).toMatchObject({ message: 'silent' })
})
