/**
 * A selection of the worst bodies of every route that takes JSON, at its size limit: none stalls the server. `npm run bench -- bodies`
 * sends all of them. Sources: docs/errors.md, Size of a body; docs/security.md, Limits.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BodyBench, openBodyBench } from '../../packages/server/testing/body-bench.ts'

/** Twice the mark of the bench in milliseconds: the machine of a test run has other work. */
const LONGEST_MS = 500
/** Longest answer in bytes: 50 failures with the texts that they may have. */
const MOST_BYTES = 1_000_000

/** One body of each kind that once cost much. */
const CHOSEN =
  /^(?:list of zeros, as many as allowed|members, as many as allowed|text without end)$|^body: (?:more members than allowed|zeros, as many as allowed)$|^\.(?:content|secrets|messages|tags): /

let bench: BodyBench
beforeAll(async () => {
  bench = await openBodyBench()
})
afterAll(() => bench[Symbol.asyncDispose]())

test('no body of a served route stalls the server, ends it or gets a long answer', async () => {
  expect(bench.routes.length).toBeGreaterThan(40)
  const faults: string[] = []
  for (const route of bench.routes) {
    for (const body of await bench.bodiesOf(route)) {
      if (!CHOSEN.test(body.name)) continue
      const { status, bytes, longestMs } = await bench.send(body)
      if (status === 0 || status >= 500 || bytes > MOST_BYTES || longestMs > LONGEST_MS)
        faults.push(`${body.route}, ${body.name}: ${status}, ${bytes} bytes, ${longestMs.toFixed(0)} ms`)
    }
  }
  expect(faults).toEqual([])
}, 180_000)
