/** Requests and models of tests, which reach servers of the tests on loopback. */
import type { LLM } from '@parley/protocol'
import { openEgress } from '../src/egress/index.ts'
import { openLlm, openTransport, type Llm } from '../src/llm/index.ts'

/** Allows loopback, as in the mode `personal`. */
export const testEgress = openEgress(['any'])
export const testFetch = testEgress.fetch({ member: 'url' })

export const openTestTransport = (more: Partial<Parameters<typeof openTransport>[0]> = {}) =>
  openTransport({ egress: testEgress, ...more })

/** The model of a record, with connections of its own. */
export const openTestLlm = (record: LLM, deps: Partial<Parameters<typeof openLlm>[1]> = {}): Llm =>
  openLlm(record, { transport: openTestTransport(), ...deps })
