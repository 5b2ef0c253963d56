/**
 * The one promise of AlwaysConfirm: nothing is executed that nobody has approved, whatever the API is asked to do, in
 * whatever order, and however many ask at once. Each sequence can be played again from its seed.
 */
import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ofKind, startRunning } from './running.ts'
import { check, play, startScripted } from './sequences.ts'

/** How many sequences: about 20 ms of a processor each, shared by two of them. Ten thousand: PARLEY_TEST_SEQUENCES=10000. */
const SEQUENCES = Number(process.env['PARLEY_TEST_SEQUENCES'] ?? 1000)
const FIRST_SEED = Number(process.env['PARLEY_TEST_SEED'] ?? 1)
/** Sequences that are played at the same time: enough to keep two processors busy, and few enough to be answered at once. */
const AT_ONCE = 12

const noModel = () => ({ status: 400, error: 'these conversations play scripts' })

test('no sequence of calls executes what has not been approved (P22, P23)', async () => {
  // One key asks more than any person would; refusals for that would only end sequences early.
  const env = { PARLEY_EPHEMERAL: 'true', PARLEY_RATE_LIMIT_PER_MINUTE: '0' }
  await using server = await startRunning(noModel, env, 'process')
  const from = performance.now()
  let next = FIRST_SEED
  let [approvals, executions, requests] = [0, 0, 0]
  const worker = async (): Promise<void> => {
    for (let seed = next++; seed < FIRST_SEED + SEQUENCES; seed = next++) {
      const played = await play(server, seed)
      const [approved, executed] = await check(server, seed, played)
      approvals += approved
      executions += executed
      requests += played.trace.length
      for (const id of played.ids) {
        const { status, text } = await server.call('DELETE', `/api/conversations/${id}`)
        expect([seed, status, text]).toEqual([seed, 200, expect.any(String)])
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const seconds = (performance.now() - from) / 1000
  console.log(
    `${SEQUENCES} sequences, ${requests} requests, ${approvals} approved actions, ${executions} executed, in ${seconds.toFixed(0)} s`,
  )
  // What was deleted has left nothing, and no call that was called off has written behind it.
  expect(await readdir(server.file('data', 'ephemeral'), { recursive: true })).toHaveLength(1)
  // A test in which nothing happens proves nothing.
  expect(approvals).toBeGreaterThan(SEQUENCES / 20)
  expect(executions).toBeGreaterThan(SEQUENCES / 20)
}, 900_000)

test('the check can fail: without a policy the same sequence executes what nobody approved', async () => {
  await using server = await startRunning(noModel)
  const id = await startScripted(server, 0, { confirmation_policy: { kind: 'NeverConfirm' }, max_iterations: 3 })
  await server.say(id, 'go on')
  await server.until(id, 'finished', 'error', 'stuck')
  expect(ofKind(await server.events(id), 'ObservationEvent').length).toBeGreaterThan(0)
  await expect(check(server, 0, { ids: [id], trace: [] })).rejects.toThrow('without approval')
})
