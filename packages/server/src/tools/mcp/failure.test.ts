import { ParleyError } from '@parley/protocol'
import { expect, test } from 'vitest'
import { lossOf, reasonOf } from './failure.ts'

const coded = (code: string | number, more: object = {}) => Object.assign(new Error('said'), { code, ...more })
const refused = new TypeError('fetch failed', { cause: coded('ECONNREFUSED') })

test.each<[string, unknown, string | null, string]>([
  ['the connection was refused', refused, 'unsent', 'its address refused the connection'],
  ['an unknown host', new TypeError('fetch failed', { cause: coded('ENOTFOUND') }), 'unsent', 'its host is not known'],
  ['a connection that was never there', coded('NOT_CONNECTED'), 'unsent', 'said'],
  ['a session that is not known', coded('X', { status: 404 }), 'unsent', 'it answered with status 404'],
  ['a refusal', coded(403), null, 'it answered with status 403'],
  ['an end', coded('CONNECTION_CLOSED'), 'midway', 'it ended the connection'],
  ['a break', new TypeError('terminated'), 'midway', 'terminated'],
  ['a request that was cut off', new DOMException('x', 'AbortError'), 'midway', 'it ended the connection'],
  ['silence', coded('REQUEST_TIMEOUT'), null, 'it did not answer in time'],
  ['a word of the server', coded(-32_602), null, 'said'],
  ['ours', new ParleyError('unavailable', 'because', { cause: refused }), 'unsent', 'because'],
])('%s', (_, error, loss, reason) => {
  expect([lossOf(error), reasonOf(error)]).toEqual([loss, reason])
})

test('the reason of an MCP failure is one bounded line without addresses', () => {
  const reason = reasonOf(
    new Error(`no way to https://me:secret@host/x?key=1\n${'long '.repeat(200)}`),
    'first\nlast words',
  )
  expect(reason).toMatch(/^no way to <address> long/)
  expect(reason).not.toMatch(/secret|\n/)
  expect(reason.length).toBeLessThanOrEqual(400)
  expect(reasonOf(new Error('ended'), 'first\nlast words\n')).toBe('ended; it said: last words')
})
