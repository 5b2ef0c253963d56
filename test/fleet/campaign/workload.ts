/** Conversations that run one turn after another on a fleet, each followed by a client. */
import { setTimeout as sleep } from 'node:timers/promises'
import { COMMANDS, lineOf, type Fleet } from '../../../packages/server/testing/fleet.ts'
import { followFleet, type FleetFollower } from '../../../packages/server/testing/fleet-follower.ts'
import { until } from '../../../packages/server/testing/until.ts'

/** Longest time of a turn, in milliseconds, with faults all the time. */
const TURN_MS = 300_000

export type Talk = { id: string; turns: number; follower: FleetFollower }

export interface Workload extends AsyncDisposable {
  readonly talks: readonly Talk[]
  /** Rejects when a turn does not end, or a client gets events out of order. */
  readonly failed: Promise<never>
  /** Lets each conversation end its turn, and begins no other. @throws as `failed` */
  rest(): Promise<void>
}

/** Starts the conversations. Their turns follow each other until `rest`, at most `pauseMs` apart. */
export async function startWorkload(fleet: Fleet, count: number, pauseMs = 0): Promise<Workload> {
  await using stack = new AsyncDisposableStack()
  const talks: Talk[] = []
  for (let at = 0; at < count; at += 1) {
    const id = await fleet.create()
    talks.push({ id, turns: 0, follower: stack.use(followFleet(fleet.proxy.url, id)) })
  }
  let isResting = false
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  const live = async (talk: Talk) => {
    while (!isResting) {
      await fleet.say(talk.id, talk.turns)
      talk.turns += 1
      await untilEnded(fleet, talk)
      await sleep(Math.random() * pauseMs)
    }
  }
  const living = Promise.all(talks.map(live)).catch((error: unknown) => {
    failed.reject(error)
    throw error
  })
  // It is awaited in `rest`; a failure before that is reported there.
  living.catch(() => undefined)
  const owned = stack.move()
  return {
    talks,
    failed: failed.promise,
    async rest() {
      isResting = true
      await living
    },
    async [Symbol.asyncDispose]() {
      isResting = true
      await living.catch(() => undefined)
      await owned.disposeAsync()
    },
  }
}

/** Waits until the client of a conversation has seen the end of its newest turn. */
async function untilEnded(fleet: Fleet, { follower, id, turns }: Talk): Promise<void> {
  await until(() => follower.finished >= turns || follower.faults.length > 0, TURN_MS).catch(async (cause: unknown) => {
    const status = await fleet.status(id).catch(() => 'unknown')
    const seen = `${follower.finished} turns at its client (${follower.ids.length} events, ${follower.connections} connections)`
    const [row] = await fleet.store
      .query<{ seq: number }>('SELECT seq::int FROM parley.conversations WHERE id = $1', id)
      .catch(() => [])
    throw new Error(`turn ${turns - 1} of ${id} has not ended: ${status} in the store (${row?.seq} events), ${seen}`, {
      cause,
    })
  })
  if (follower.faults.length > 0) throw new Error(follower.faults[0])
}

/** The lines that the commands of a conversation must have written, each once. */
export const linesOf = ({ id, turns }: Talk): string[] =>
  Array.from({ length: turns }, (_turn, turn) =>
    Array.from({ length: COMMANDS }, (_command, command) => lineOf(id, turn, command)),
  ).flat()
