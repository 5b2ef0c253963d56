/** The steps of the sequences, one row each. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { tagsOf } from './model.ts'
import { POLICIES } from './policies.ts'
import type { Sequence } from './sequence.ts'

/** Milliseconds after which an unused conversation has usually left memory. */
const UNLOADED_MS = 300

type Step = {
  /** How often the step is chosen. */
  weight: number
  /** The weight in sequences with sub-agents, where it differs. */
  withHelper?: number
  take: (sequence: Sequence) => unknown
}

const STEPS: readonly Step[] = [
  { weight: 2, withHelper: 1, take: say },
  { weight: 2, take: (s) => s.decide('/run', true, null) },
  { weight: 1, take: (s) => s.post('/pause') },
  { weight: 1, take: (s) => s.post('/interrupt') },
  { weight: 1, take: look },
  { weight: 3, withHelper: 1, take: (s) => s.untilHeld() },
  { weight: 1, take: (s) => s.place.effects.release(tagsOf(s.played.seed)) },
  { weight: 1, take: (s) => s.untilResting([s.focus]) },
  { weight: 2, take: (s) => s.respond(true, null, byResponse(s)) },
  { weight: 1, take: (s) => s.respond(false, null, byResponse(s)) },
  { weight: 2, take: answerNamed },
  { weight: 2, take: approveShown },
  { weight: 4, withHelper: 8, take: approve },
  { weight: 0, withHelper: 3, take: rewind },
  { weight: 0, withHelper: 3, take: repeatBatch },
  { weight: 1, take: (s) => s.post('/navigate', { event_id: s.pointOf(s.focus) }) },
  { weight: 1, take: fork },
  { weight: 2, take: (s) => s.post('/confirmation_policy', { policy: POLICIES[s.pick(POLICIES.length)] }) },
  { weight: 1, take: (s) => sleep(s.pick(2) * UNLOADED_MS) },
  { weight: 1, take: (s) => s.place.restart(s.pick(3) === 0 ? 'end' : 'kill', s.pick(2) === 0) },
  { weight: 1, take: changeFocus },
]

const weighted = (weightOf: (step: Step) => number): readonly Step[] =>
  STEPS.flatMap((step) => Array<Step>(weightOf(step)).fill(step))
const ORDINARY = weighted(({ weight }) => weight)
const WITH_HELPER = weighted(({ weight, withHelper = weight }) => withHelper)

/** Takes one random step. */
export async function takeStep(sequence: Sequence, hasHelper: boolean): Promise<void> {
  const steps = hasHelper ? WITH_HELPER : ORDINARY
  await steps[sequence.pick(steps.length)]!.take(sequence)
}

/** Sends a message; usually it starts a run. */
export async function say(s: Sequence): Promise<void> {
  await s.post('/events', { content: [{ type: 'text', text: 'go on' }], run: s.pick(4) > 0 })
}

/** Shows a client what waits. */
async function look(s: Sequence): Promise<void> {
  await s.ask('GET', '')
  if (s.pick(2) === 0) await s.ask('GET', '/events/search?limit=100&sort_order=TIMESTAMP_DESC')
}

/** Names the newest response, or nothing. The id of a response names no batch: model servers repeat it. */
const byResponse = (s: Sequence): object =>
  s.pick(2) === 0 ? {} : { llm_response_id: s.asked().at(-1)?.event.llm_response_id }

/** Answers any batch that was ever asked about: the newest one more often, or one that is stale. */
function answerNamed(s: Sequence): Promise<void> {
  const asked = s.asked()
  const batch = (s.pick(2) === 0 ? asked.at(-1) : asked[s.pick(asked.length + 1)])?.event.id ?? randomUUID()
  if (s.pick(2) === 0) return s.decide('/run', true, batch, { batch_id: batch })
  return s.respond(s.pick(4) > 0, batch, { batch_id: batch })
}

/** Approves as a person does it, and sometimes after the conversation has left memory. */
async function approve(s: Sequence): Promise<void> {
  await s.untilResting([s.focus])
  if (s.pick(4) === 0) await sleep(UNLOADED_MS)
  const batch = s.asked().at(-1)?.event.id
  if (batch !== undefined) await s.respond(true, batch, { batch_id: batch })
}

/** Approves what a client has received, without naming it. */
async function approveShown(s: Sequence): Promise<void> {
  await s.untilResting([s.focus])
  await s.ask('GET', '')
  if (s.pick(2) === 0) await s.decide('/run', true, null)
  else await s.respond(true, null, byResponse(s))
}

async function fork(s: Sequence): Promise<void> {
  const id = randomUUID()
  await s.post('/fork', { id })
  if (s.place.logs.status(id) !== undefined) s.played.ids.push(id)
}

function changeFocus(s: Sequence): void {
  const all = s.everyone()
  s.focus = all[s.pick(all.length)]!
}

/** Takes a sub-agent back while its parent waits for it; it then works anew. A paused one is waited for no more. */
async function rewind(s: Sequence): Promise<void> {
  const { logs } = s.place
  const children = logs.children(s.focus)
  const child = children[s.pick(children.length)]
  if (child === undefined) return
  if (s.pick(4) === 0) await s.ask('POST', '/pause', undefined, child)
  await s.untilResting([child])
  const to = s.pick(2) === 0 ? s.pointOf(child) : s.taskOf(child)
  await s.ask('POST', '/navigate', { event_id: to }, child)
}

/** Approvals of a task, of the first batch of its sub-agent, and of a batch that a sub-agent of another task asks about before. */
const MOST_APPROVALS = 4

/**
 * Approves until a sub-agent waits with its second batch, and takes it back to its task: its next response has the id of its first
 * one where the model server repeats ids.
 */
async function repeatBatch(s: Sequence): Promise<void> {
  const { logs } = s.place
  for (let approvals = 0; approvals < MOST_APPROVALS; approvals++) {
    await s.untilResting([s.focus])
    const child = logs
      .children(s.focus)
      .find((id) => logs.status(id) === 'waiting_for_confirmation' && s.hasApproved(id))
    if (child !== undefined) return void (await s.ask('POST', '/navigate', { event_id: s.taskOf(child) }, child))
    await approve(s)
  }
}
