import { describe, expect, test } from 'vitest'
import { AcpFailure, detailOf, promptFailure, startFailure } from './failure.ts'

const answered = (code: number, message: string, data?: unknown) => Object.assign(new Error(message), { code, data })

test.each([
  [answered(-32000, 'Anything'), 'ACPAuthRequired'],
  [answered(-32603, 'Internal error', { details: 'HTTP 401 from provider' }), 'ACPAuthRequired'],
  [answered(-32603, 'status: 403, forbidden'), 'ACPAuthRequired'],
  [answered(-32603, 'Please log in with `x login`'), 'ACPAuthRequired'],
  [answered(-32603, 'unknown model x-401b'), 'ACPInitError'],
  [answered(-32603, 'timed out after 401 s'), 'ACPInitError'],
  [answered(-32603, 'timed out after 403 seconds'), 'ACPInitError'],
  [new Error('EPIPE'), 'ACPInitError'],
  [new AcpFailure('ACPSpawnError', 'no such program'), 'ACPSpawnError'],
])('%s while it starts is %s', (error, code) => {
  expect(startFailure(error).code).toBe(code)
})

test.each([
  [answered(-32603, 'Internal error'), 'ACPPromptError'],
  [answered(-32000, 'x'), 'ACPAuthRequired'],
  [answered(1, 'blocked by our content policy'), 'UsagePolicyRefusal'],
])('%s of a prompt is %s', (error, code) => {
  expect(promptFailure(error).code).toBe(code)
})

describe('the detail', () => {
  test.each([
    [answered(1, 'no', { details: 'why' }), 'no: why'],
    [answered(1, 'no', 'why'), 'no: why'],
    [answered(1, 'no because', 'because'), 'no because'],
    [answered(1, 'no', { odd: [1] }), 'no: {"odd":[1]}'],
    [answered(1, 'no', null), 'no'],
  ])('of %o is %s', (error, detail) => {
    expect(detailOf(error)).toBe(detail)
  })

  test('is bounded', () => {
    expect(detailOf(new Error('x'.repeat(9000)))).toHaveLength(500)
  })
})
