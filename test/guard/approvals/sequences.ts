/** Random sequences of API calls, each repeatable from its seed as far as the order of concurrent requests allows. */
import { setTimeout as sleep } from 'node:timers/promises'
import { hasHelper, tagsOf } from './model.ts'
import type { Place } from './place.ts'
import { random } from './random.ts'
import { Sequence, type Played } from './sequence.ts'
import { say, takeStep } from './steps.ts'

const LEAST_STEPS = 4
const MOST_STEPS = 14
/** Milliseconds before a request is repeated that the store could not take. */
const AGAIN_MS = 10

/** Runs one sequence to its end; afterwards nothing runs in its conversations. */
export async function play(place: Place, seed: number): Promise<Played> {
  const pick = random(seed)
  const sequence = await Sequence.start(place, seed, pick)
  const step = () => takeStep(sequence, hasHelper(seed))
  await say(sequence)
  for (let left = LEAST_STEPS + pick(MOST_STEPS - LEAST_STEPS + 1); left > 0; left--) {
    // Some steps are not awaited, so that the next one runs concurrently.
    if (pick(6) === 0) await Promise.all([step(), step()])
    else await step()
  }
  await sequence.untilResting(sequence.everyone())
  // A message that waits for the end of a start would begin a run during the check.
  for (sequence.focus of sequence.everyone()) await untilInterrupted(sequence)
  await sequence.untilResting(sequence.everyone())
  return sequence.played
}

/** Repeats an interrupt that was cut off, or that the store could not take. */
async function untilInterrupted(sequence: Sequence): Promise<void> {
  for (;;) {
    const { status } = await sequence.post('/interrupt')
    if (status !== 0 && status !== 503) return
    await sleep(AGAIN_MS)
  }
}

/** Deletes the conversations of a sequence, sub-agents first. */
export async function clear(place: Place, { seed, ids }: Played): Promise<void> {
  const all: string[] = ids.flatMap((each) => [...place.logs.children(each), each])
  for (const id of new Set(all))
    while (place.logs.status(id) !== undefined) {
      const { status, text } = await place.call('DELETE', `/api/conversations/${id}`)
      if (![0, 200, 503].includes(status)) throw new Error(`seed ${seed}: ${id} is not deleted: ${status} ${text}`)
    }
  place.model.forget(seed)
  place.effects.forget(tagsOf(seed))
}
