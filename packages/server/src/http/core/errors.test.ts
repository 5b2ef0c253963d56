import { describe, expect, test } from 'vitest'
import { ErrorCode, invalidInput, ParleyError } from '@parley/protocol'
import { RunCancelled } from '../../conversation/index.ts'
import { isNotFound, toAnswer, UNKNOWN_CONVERSATION } from './errors.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe('refusals', () => {
  test.each<[ErrorCode, number]>([
    ['bad_request', 400],
    ['unauthenticated', 401],
    ['forbidden', 403],
    ['not_found', 404],
    ['conflict', 409],
    ['nothing_pending', 409],
    ['too_large', 413],
    ['unsupported', 501],
    ['insufficient_storage', 507],
  ])('%s is %i with a sentence and its details', (code, status) => {
    const error = new ParleyError(code, 'this cannot be', { details: { reason: 'x', detail: 'never this' } })
    expect(toAnswer(error, silent)).toEqual({ status, body: { detail: 'this cannot be', reason: 'x' } })
  })

  test('a refused value is 422 with a list, also where no request is known, and details cannot replace it', () => {
    const error = invalidInput('this cannot be', ['a'], { details: { reason: 'x', detail: 'never this' } })
    const entry = {
      type: 'value_error',
      loc: ['body'],
      msg: 'Value error, this cannot be',
      input: null,
      ctx: { error: {} },
    }
    expect(toAnswer(error, silent)).toEqual({ status: 422, body: { detail: [entry], reason: 'x' } })
  })

  test('a temporary error has the envelope that clients expect', () => {
    expect(toAnswer(new ParleyError('unavailable', 'the store is closed'), silent)).toEqual({
      status: 503,
      body: { detail: 'Internal Server Error', exception: '503: the store is closed' },
      headers: { 'retry-after': '1' },
    })
  })

  test.each([
    [{}, '1'],
    [{ retry_after_seconds: 30 }, '30'],
  ])('rate_limited with the details %j is 429 with the wait of %s seconds', (details, seconds) => {
    const error = new ParleyError('rate_limited', 'too much', { details: { reason: 'x', ...details } })
    const headers = { 'retry-after': seconds }
    expect(toAnswer(error, silent)).toEqual({ status: 429, body: { detail: 'too much', reason: 'x' }, headers })
  })

  test('a request for a conversation that leaves memory is to be sent again', () => {
    expect(toAnswer(new RunCancelled('lost'), silent)).toMatchObject({
      status: 503,
      body: { exception: expect.stringContaining('Send the request again') as string },
      headers: { 'retry-after': '1' },
    })
  })

  test('every error code has a status', () => {
    for (const code of ErrorCode.options)
      expect(toAnswer(new ParleyError(code, 'x'), silent).status).toBeGreaterThan(399)
  })
})

test('isNotFound distinguishes a missing event from a missing conversation', () => {
  const event = new ParleyError('not_found', 'x', { details: { conversation_id: 'c', event_id: 'e' } })
  const conversation = new ParleyError('not_found', 'x', { details: { conversation_id: 'c' } })
  expect([isNotFound(event, 'event'), isNotFound(event, 'conversation')]).toEqual([true, false])
  expect([isNotFound(conversation, 'event'), isNotFound(conversation, 'conversation')]).toEqual([false, true])
  expect(isNotFound(new ParleyError('conflict', 'x'), 'conversation')).toBe(false)
  expect(isNotFound(new Error('x'), 'conversation')).toBe(false)
})

test('the answer with_id for an unknown conversation contains the id', () => {
  expect(UNKNOWN_CONVERSATION.with_id('c1')).toEqual({ status: 404, body: { detail: 'Conversation not found: c1' } })
})
