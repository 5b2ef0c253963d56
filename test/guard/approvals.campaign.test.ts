/**
 * The guarantee of approvals: nothing is executed without an approval that names it, or under a policy that asks about it, whatever
 * requests the API gets, in any order and concurrently, and however often the server is killed meanwhile.
 */
import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { byForm, form, forSeeds, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { until } from '../../packages/server/testing/until.ts'
import { check, mayBegin, NO_COUNTS, type Counts } from './approvals/check.ts'
import { startPlace } from './approvals/place.ts'
import { clear, play } from './approvals/sequences.ts'
import type { Stored } from './approvals/stored-logs.ts'

/** A soak plays 10,000 sequences, however long they take. */
const BUDGET = byForm({
  test: { seconds: 8, least: 12 },
  campaign: { seconds: 120, least: 100 },
  soak: { seconds: 0, least: 10_000 },
})
/** Number of sequences that contain every case, however they are mixed. */
const ENOUGH = 500
/** Concurrent sequences. Most of a sequence is waiting; each restart concerns all of them. */
const AT_ONCE = byForm({ test: 16, campaign: 32 })

test(
  'no sequence of API calls, restarts and policies executes an action without an approval that names it (P22, P23)',
  async () => {
    await using place = await startPlace()
    const from = performance.now()
    const total: Counts = { ...NO_COUNTS }
    const sequences = await forSeeds({ ...BUDGET, atOnce: AT_ONCE }, async (seed) => {
      const played = await play(place, seed)
      const counts = check(place, played)
      for (const key of Object.keys(total) as (keyof Counts)[]) total[key] += counts[key]
      await clear(place, played)
    })
    const seconds = ((performance.now() - from) / 1000).toFixed(0)
    console.log(`${sequences} sequences in ${seconds} s, ${place.restarts} restarts: ${JSON.stringify(total)}`)
    // Deleted conversations leave nothing.
    await until(async () => (await readdir(place.file('data', 'conversations'))).length === 0, 60_000)
    // The sequences must contain what is checked.
    expect(place.restarts).toBeGreaterThan(0)
    expect(Math.min(total.approved, total.executed)).toBeGreaterThan(sequences / 20)
    const { below, free, secret, withheld, unnamed, unseen, repeated } = total
    if (sequences >= ENOUGH)
      expect(Math.min(below, free, secret, withheld, unnamed, unseen, repeated)).toBeGreaterThan(0)
  },
  timeoutFor(form === 'soak' ? 4 * 3600 : BUDGET.seconds),
)

const ALWAYS = { kind: 'AlwaysConfirm' }
const NEVER = { kind: 'NeverConfirm' }
const policy = (value: object) => ({ kind: 'StateChangedEvent', key: 'confirmation_policy', value })
const action = {
  kind: 'ActionEvent',
  id: 'a',
  tool_name: 'hold',
  security_risk: 'UNKNOWN',
  action: { data: { tag: 't' } },
}
const asked = { kind: 'ConfirmationRequestedEvent', id: 'b', actions: [{ action_id: 'a' }] }
const message = { kind: 'MessageEvent', source: 'user' }
// SHA-256 of {"action":{"data":{"tag":"t"}},"tool_name":"hold"}.
const digest = 'e3871c7dbc6a18d842509a7cf968f658a28b1dd19800ea45d79d003a2f688dff'
const approval = {
  kind: 'ApprovalEvent',
  batch_id: 'b',
  action_ids: ['a'],
  decision: 'accept',
  actions: [{ action_id: 'a', digest }],
}

test.each<[string, boolean, readonly object[], readonly [number, number]]>([
  ['without an approval under a policy that asks is refused', false, [policy(ALWAYS), action, asked], [2, 3]],
  ['with a stored approval is accepted', true, [policy(ALWAYS), action, asked, approval], [2, 4]],
  ['before its approval is stored is refused', false, [policy(ALWAYS), action, asked, approval], [2, 3]],
  [
    'with the digest of other arguments is refused',
    false,
    [policy(ALWAYS), action, asked, { ...approval, actions: [{ action_id: 'a', digest: 'x' }] }],
    [2, 4],
  ],
  [
    'with an approval of another batch is refused',
    false,
    [policy(ALWAYS), action, asked, { ...approval, batch_id: 'c' }],
    [2, 4],
  ],
  [
    'with an approval that does not name it is refused',
    false,
    [policy(ALWAYS), action, asked, { ...approval, action_ids: [] }],
    [2, 4],
  ],
  ['after a rejection is refused', false, [policy(ALWAYS), action, asked, { ...approval, decision: 'reject' }], [2, 4]],
  [
    'after a message that followed the approval is refused',
    false,
    [policy(ALWAYS), action, asked, approval, message],
    [5, 5],
  ],
  ['under a policy that does not ask is accepted', true, [policy(NEVER), action], [2, 2]],
  ['after the policy was tightened is refused', false, [policy(NEVER), action, policy(ALWAYS)], [3, 3]],
  ['that began before the policy was tightened is accepted', true, [policy(NEVER), action, policy(ALWAYS)], [2, 3]],
  [
    'of a low risk is accepted when only risky calls are asked about',
    true,
    [policy({ kind: 'ConfirmRisky' }), { ...action, security_risk: 'LOW' }],
    [2, 2],
  ],
  [
    'of a high risk is refused then',
    false,
    [policy({ kind: 'ConfirmRisky' }), { ...action, security_risk: 'HIGH' }],
    [2, 2],
  ],
  [
    'after a message, where risky calls are asked about, is refused',
    false,
    [policy({ kind: 'ConfirmRisky' }), { ...action, security_risk: 'LOW' }, message],
    [3, 3],
  ],
  [
    'of an action that has its result is refused',
    false,
    [policy(NEVER), action, { kind: 'ObservationEvent', action_id: 'a' }],
    [3, 3],
  ],
])('the check of the sequences: an execution %s', (_name, expected, events, range) => {
  const log = events.map((event, at): Stored => ({ seq: at + 1, event }))
  expect(mayBegin(log, log[1]!, range)).toBe(expected)
})
