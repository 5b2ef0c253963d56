/** For tests: generators of valid histories. */
import type { TreeEvent } from '@parley/protocol'
import fc from 'fast-check'
import { callEvent, errorEvent, resultEvent, paused, prompt, rejectionEvent, messageEvent } from './events.testing.ts'

const step = fc.record({
  kind: fc.constantFrom('message', 'batch', 'telemetry'),
  size: fc.integer({ min: 1, max: 3 }),
  isThinking: fc.boolean(),
  answer: fc.constantFrom('observed', 'failed', 'refused'),
  interjects: fc.boolean(),
  /** Providers repeat ids of calls from turn to turn (F46). */
  repeatsIds: fc.boolean(),
})

/** Messages, and batches with results in order, sometimes with other events in between. The system prompt is first. */
export const historyOf = (maxLength: number) => fc.array(step, { maxLength }).map(written)
export const history = historyOf(10)

type Steps = (typeof step extends fc.Arbitrary<infer S> ? S : never)[]

function written(steps: Steps): TreeEvent[] {
  const events: TreeEvent[] = [prompt()]
  for (const [n, { kind, size, isThinking, answer, interjects, repeatsIds }] of steps.entries()) {
    if (kind === 'message') events.push(messageEvent(`m${n}`, 'hello'))
    if (kind === 'telemetry') events.push(paused(`p${n}`))
    if (kind !== 'batch') continue
    const actions = Array.from({ length: size }, (_, k) =>
      callEvent(`a${n}.${k}`, `r${n}`, {
        isThinking: isThinking && k === 0,
        ...(repeatsIds ? { callId: `call-${k}` } : {}),
      }),
    )
    events.push(...actions)
    if (interjects) events.push(messageEvent(`i${n}`, 'by the way'))
    const close = { observed: resultEvent, failed: errorEvent, refused: rejectionEvent }[answer]
    events.push(...actions.map((action, k) => close(`o${n}.${k}`, action)))
  }
  return events
}
