/** For tests of this room: histories as they are written, for laws that hold for all of them. */
import type { TreeEvent } from '@parley/protocol'
import fc from 'fast-check'
import { called, failed, observed, paused, prompt, refused, said } from './events.testing.ts'

const step = fc.record({
  kind: fc.constantFrom('message', 'batch', 'telemetry'),
  size: fc.integer({ min: 1, max: 3 }),
  isThinking: fc.boolean(),
  answer: fc.constantFrom('observed', 'failed', 'refused'),
  interjects: fc.boolean(),
  /** Providers repeat ids of calls from turn to turn (F46). */
  repeatsIds: fc.boolean(),
})

/** Messages, and batches that are answered in order, now and then with something in between. The system prompt is first. */
export const historyOf = (maxLength: number) => fc.array(step, { maxLength }).map(written)
export const history = historyOf(10)

type Steps = (typeof step extends fc.Arbitrary<infer S> ? S : never)[]

function written(steps: Steps): TreeEvent[] {
  const events: TreeEvent[] = [prompt()]
  for (const [n, { kind, size, isThinking, answer, interjects, repeatsIds }] of steps.entries()) {
    if (kind === 'message') events.push(said(`m${n}`, 'hello'))
    if (kind === 'telemetry') events.push(paused(`p${n}`))
    if (kind !== 'batch') continue
    const actions = Array.from({ length: size }, (_, k) =>
      called(`a${n}.${k}`, `r${n}`, {
        isThinking: isThinking && k === 0,
        ...(repeatsIds ? { callId: `call-${k}` } : {}),
      }),
    )
    events.push(...actions)
    if (interjects) events.push(said(`i${n}`, 'by the way'))
    const close = { observed, failed, refused }[answer]
    events.push(...actions.map((action, k) => close(`o${n}.${k}`, action)))
  }
  return events
}
