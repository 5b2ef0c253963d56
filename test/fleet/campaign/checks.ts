/** What holds after any sequence of faults of a fleet. */
import { expect } from 'vitest'
import type { Fleet } from '../../../packages/server/testing/fleet.ts'
import { until } from '../../../packages/server/testing/until.ts'
import type { WebhookReceiver } from '../../../packages/server/testing/webhook-receiver.ts'
import type { Watched } from './watched-rows.ts'
import { linesOf, type Talk } from './workload.ts'

const CAUGHT_UP_MS = 60_000

type EventRow = { seq: number; body: string }

export async function check(
  fleet: Fleet,
  talks: readonly Talk[],
  watched: Watched,
  receiver: WebhookReceiver,
): Promise<void> {
  const written = new Map<string, number>()
  for (const line of fleet.executed()) written.set(line, (written.get(line) ?? 0) + 1)
  expect(
    [...written].filter(([, times]) => times > 1),
    'calls that were executed twice',
  ).toEqual([])
  expect(watched.faults, 'rows that went back').toEqual([])
  expect(receiver.faults, 'webhooks out of order').toEqual([])
  for (const talk of talks) await checkTalk(fleet, talk, written, receiver)
  const text = 'SELECT id FROM parley.conversations WHERE wants_owner'
  expect(await fleet.store.query(text), 'conversations that should run').toEqual([])
  const pending = `SELECT 1 FROM parley.deliveries WHERE status = 'pending' LIMIT 1`
  await until(async () => (await fleet.store.query(pending)).length === 0, CAUGHT_UP_MS)
}

async function checkTalk(
  fleet: Fleet,
  talk: Talk,
  written: ReadonlyMap<string, number>,
  receiver: WebhookReceiver,
): Promise<void> {
  const { id, turns, follower } = talk
  const events = await eventsOf(fleet, id)
  expect(
    events.map(({ seq }) => seq),
    `the log of ${id}`,
  ).toEqual(events.map((_, at) => at + 1))
  const lines = linesOf(talk)
  expect(
    lines.filter((line) => !written.has(line)),
    `calls of ${id} that were not executed`,
  ).toEqual([])
  const bodies = events.map(({ body }) => JSON.parse(body) as Record<string, any>)
  const actions = bodies.filter(({ kind }) => kind === 'ActionEvent').map((event) => event['id'] as string)
  const results = bodies.filter(({ kind }) => kind === 'ObservationEvent').map((event) => event['action_id'] as string)
  expect(results, `the results of ${id}`).toEqual(actions)
  expect(actions, `the calls of ${id}`).toHaveLength(lines.length)
  const errors = bodies.filter(({ kind }) => ['AgentErrorEvent', 'ConversationErrorEvent'].includes(kind as string))
  expect(errors, `errors of ${id}`).toEqual([])
  expect(follower.finished, `turns of ${id}`).toBe(turns)
  await until(() => follower.ids.length >= events.length, CAUGHT_UP_MS)
  const stored = bodies.map((event) => event['id'] as string)
  expect(differenceOf(stored, follower.ids), `the log of ${id} at its client`).toBeNull()
  await until(() => sentOf(receiver, id).length >= events.length, CAUGHT_UP_MS)
  expect(differenceOf(stored, sentOf(receiver, id)), `the log of ${id} at the receiver of webhooks`).toBeNull()
}

/** The first place at which two logs differ; null: they are equal. */
function differenceOf(stored: readonly string[], received: readonly string[]) {
  const at = Array.from({ length: Math.max(stored.length, received.length) }, (_, place) => place).find(
    (place) => stored[place] !== received[place],
  )
  return at === undefined ? null : { at, stored: stored.slice(at, at + 3), received: received.slice(at, at + 3) }
}

const eventsOf = (fleet: Fleet, id: string): Promise<EventRow[]> =>
  fleet.store.query<EventRow>(
    `SELECT e.seq::int AS seq, e.event AS body FROM parley.events e JOIN parley.conversations c ON c.n = e.conversation
      WHERE c.id = $1 ORDER BY e.seq`,
    id,
  )

const sentOf = (receiver: WebhookReceiver, id: string): string[] =>
  receiver.about(id).flatMap(({ path, body }) => (path === '/conversations' ? [] : body.map((event: any) => event.id)))
