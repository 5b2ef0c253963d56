/** Three nodes under seeded faults, with conversations whose workspaces are on another server. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { byForm, forSeeds, form, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { startFleet } from '../../packages/server/testing/fleet.ts'
import { random } from '../../packages/server/testing/random-history.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { webhookEnv } from '../../packages/server/testing/webhook-servers.ts'
import { check } from './campaign/checks.ts'
import { FAULT_KINDS, inject, kindOf, LEASE_MS, type Continued, type FaultKind } from './campaign/faults.ts'
import { watchRows } from './campaign/watched-rows.ts'
import { startWorkload } from './campaign/workload.ts'

const CONVERSATIONS = byForm({ test: 4, campaign: 16 })
const SECONDS = byForm({ test: 1, campaign: 240 })
/** Faults of one fleet, before everything is checked. */
const FAULTS = byForm({ test: 6, campaign: 24 })
const FAULTS_OF_A_SOAK = 3_000
/** Longest pause between two turns of a conversation, in milliseconds: two processors are not always busy, as those of an operator are not. */
const PAUSE_OF_TURNS_MS = byForm({ test: 0, campaign: 8_000 })
/** Longest pause between two faults, in milliseconds. */
const PAUSE_MS = 1_000

test(
  'after any sequence of kills, freezes, cuts, drains, crashes of the store and promotions, logs are dense, calls were executed once, webhooks and clients have every event once and in order, and nothing is left without an owner',
  async () => {
    const counts = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0])) as Record<FaultKind, number>
    const continued: Continued[] = []
    let calls = 0
    let faults = 0
    const play = async (seed: number) => {
      const numbers = random(seed)
      await using receiver = await startWebhookReceiver()
      await using fleet = await startFleet({
        env: { ...webhookEnv([receiver.url], { events: true, secret: null }), PARLEY_DRAIN_SECONDS: '5' },
      })
      await using watched = watchRows(fleet.store)
      await using work = await startWorkload(fleet, CONVERSATIONS, PAUSE_OF_TURNS_MS)
      const store = { at: performance.now() }
      // A node that has just started takes nothing from others, as after a start of the store.
      await sleep(LEASE_MS)
      // The short form has each kind once.
      const kinds = Array.from({ length: FAULTS }, (_, at) => (form === 'test' ? FAULT_KINDS[at]! : kindOf(numbers)))
      const deps = { fleet, watched, random: numbers, onContinued: (each: Continued) => continued.push(each) }
      for (const kind of kinds) {
        await Promise.race([inject(kind, deps, store), work.failed])
        counts[kind] += 1
        faults += 1
        await sleep(numbers() * PAUSE_MS)
      }
      await work.rest()
      await check(fleet, work.talks, watched, receiver)
      calls += fleet.executed().length
    }
    const isEnough = form === 'soak' ? { isEnough: () => faults >= FAULTS_OF_A_SOAK } : {}
    const seeds = await forSeeds({ seconds: SECONDS, ...isEnough }, play)
    const [usual, afterStore] = [false, true].map((isAfter) =>
      continued.flatMap(({ ms, isAfterStore }) => (isAfterStore === isAfter ? [ms] : [])).toSorted((a, b) => a - b),
    ) as [number[], number[]]
    console.log(
      `fleet: ${seeds} seeds, ${calls} calls, faults ${JSON.stringify(counts)}; ` +
        `after a kill ${quantiles(usual)}; within a lease after a start of the store ${quantiles(afterStore)}`,
    )
    if (form === 'test') return
    expect(usual.length).toBeGreaterThan(0)
    // Times are judged in the long form, on a quiet machine. The other forms print them.
    if (form !== 'soak') return
    expect(usual[Math.floor(usual.length / 2)]).toBeLessThanOrEqual(1_000)
    expect(usual.at(-1)).toBeLessThanOrEqual(3_000)
    expect(afterStore.at(-1) ?? 0).toBeLessThanOrEqual(LEASE_MS + 3_000)
  },
  form === 'soak' ? 6 * 3_600_000 : timeoutFor(SECONDS + 240),
)

/** Number, median and largest of sorted milliseconds. */
const quantiles = (sorted: readonly number[]): string =>
  sorted.length === 0
    ? 'none'
    : `${sorted.length} continued, p50 ${Math.round(sorted[Math.floor(sorted.length / 2)]!)} ms, max ${Math.round(sorted.at(-1)!)} ms`
