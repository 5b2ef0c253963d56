import { expect, test } from 'vitest'
import { AcpFailure, detailOf, promptFailure, startFailure } from './failure.ts'

const requestError = (code: number, message: string, data?: unknown) =>
  Object.assign(new Error(message), { code, data })

test.each([
  [requestError(-32000, 'Anything'), 'ACPAuthRequired'],
  [requestError(-32603, 'Internal error', { details: 'HTTP 401 from provider' }), 'ACPAuthRequired'],
  [requestError(-32603, 'status: 403, forbidden'), 'ACPAuthRequired'],
  [requestError(-32603, 'Please log in with `x login`'), 'ACPAuthRequired'],
  [requestError(-32603, 'unknown model x-401b'), 'ACPInitError'],
  [requestError(-32603, 'timed out after 401 s'), 'ACPInitError'],
  [requestError(-32603, 'timed out after 403 seconds'), 'ACPInitError'],
  [new Error('EPIPE'), 'ACPInitError'],
  [new AcpFailure('ACPSpawnError', 'no such program'), 'ACPSpawnError'],
])('the error "%s" during the start has the code %s', (error, code) => {
  expect(startFailure(error).code).toBe(code)
})

test.each([
  [requestError(-32603, 'Internal error'), 'ACPPromptError'],
  [requestError(-32000, 'x'), 'ACPAuthRequired'],
  [requestError(1, 'blocked by our content policy'), 'UsagePolicyRefusal'],
])('the error "%s" of a prompt has the code %s', (error, code) => {
  expect(promptFailure(error).code).toBe(code)
})

test.each([
  [requestError(1, 'no', { details: 'why' }), 'no: why'],
  [requestError(1, 'no', 'why'), 'no: why'],
  [requestError(1, 'no because', 'because'), 'no because'],
  [requestError(1, 'no', { odd: [1] }), 'no: {"odd":[1]}'],
  [requestError(1, 'no', null), 'no'],
])('the detail of %o is "%s"', (error, detail) => {
  expect(detailOf(error)).toBe(detail)
})

test('the detail of an error has at most 500 characters', () => {
  expect(detailOf(new Error('x'.repeat(9000)))).toHaveLength(500)
})
