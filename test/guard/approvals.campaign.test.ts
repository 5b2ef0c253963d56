/**
 * The guarantee of AlwaysConfirm: nothing is executed without an approval, whatever requests the API gets, in any order
 * and concurrently. Each sequence can be repeated from its seed.
 */
import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { byForm, forSeeds, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { ofKind, startRunning } from '../../packages/server/testing/restartable-server.ts'
import { check, play, startScripted } from './sequences.ts'

/** Seconds; a sequence takes about 20 ms of processor time. */
const BUDGET = { seconds: byForm({ test: 8, campaign: 120, soak: 1800 }), least: 100 }
/** Concurrent sequences: enough for two processors, and few enough for quick answers. */
const AT_ONCE = 12

const noModel = () => ({ status: 400, error: 'these conversations play scripts' })

test(
  'no sequence of API calls executes an action without approval (P22, P23)',
  async () => {
    // One key sends many requests; rate limits would only end sequences early.
    const env = { PARLEY_EPHEMERAL: 'true', PARLEY_RATE_LIMIT_PER_MINUTE: '0' }
    await using server = await startRunning(noModel, env, 'process')
    const from = performance.now()
    let [approvals, executions, requests] = [0, 0, 0]
    const sequences = await forSeeds({ ...BUDGET, atOnce: AT_ONCE }, async (seed) => {
      const played = await play(server, seed)
      const [approved, executed] = await check(server, seed, played)
      approvals += approved
      executions += executed
      requests += played.trace.length
      for (const id of played.ids) {
        const { status, text } = await server.call('DELETE', `/api/conversations/${id}`)
        expect([status, text]).toEqual([200, expect.any(String)])
      }
    })
    const seconds = (performance.now() - from) / 1000
    console.log(
      `${sequences} sequences, ${requests} requests, ${approvals} approved actions, ${executions} executed, in ${seconds.toFixed(0)} s`,
    )
    // Deleted conversations have left nothing, and interrupted calls have written nothing afterwards.
    expect(await readdir(server.file('data', 'ephemeral'), { recursive: true })).toHaveLength(1)
    // The sequences must contain approvals and executions to prove anything.
    expect(approvals).toBeGreaterThan(sequences / 20)
    expect(executions).toBeGreaterThan(sequences / 20)
  },
  timeoutFor(BUDGET.seconds),
)

test('the approval check fails for a sequence without a policy', async () => {
  await using server = await startRunning(noModel)
  const id = await startScripted(server, 0, { confirmation_policy: { kind: 'NeverConfirm' }, max_iterations: 3 })
  await server.say(id, 'go on')
  await server.until(id, 'finished', 'error', 'stuck')
  expect(ofKind(await server.events(id), 'ObservationEvent').length).toBeGreaterThan(0)
  await expect(check(server, 0, { ids: [id], trace: [] })).rejects.toThrow('without approval')
})
