import { APICallError, JSONParseError, TypeValidationError } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { toLlmError } from './errors.ts'

const CONTEXT = { model: 'm', hide: (text: string) => text, hasKey: true, baseUrl: null }
const SECRET = 'build-token=abc123'
const answered = (statusCode: number, responseBody: string, cause?: unknown) =>
  new APICallError({
    message: responseBody,
    url: 'http://model',
    requestBodyValues: {},
    statusCode,
    responseBody,
    cause,
  })

test.each<[string, unknown]>([
  ['a text', answered(403, `internal page: ${SECRET}`)],
  ['a page', answered(500, `<html>${SECRET}</html>`)],
  ['JSON of another service', answered(404, JSON.stringify({ token: SECRET, message: SECRET }))],
  ['JSON of another form below error', answered(400, JSON.stringify({ error: { token: SECRET } }))],
  [
    'an answer that is no JSON',
    answered(200, '', new JSONParseError({ text: SECRET, cause: new SyntaxError(SECRET) })),
  ],
  ['a part of a stream that is no JSON', new JSONParseError({ text: SECRET, cause: new SyntaxError(SECRET) })],
  [
    'a part of a stream in another form',
    new TypeValidationError({ value: { token: SECRET }, cause: new Error(SECRET) }),
  ],
  ['a list of details in another form', answered(404, JSON.stringify({ detail: [{ token: SECRET }, SECRET] }))],
  ['an error of the parser', new SyntaxError(`Unexpected token, "${SECRET}" is not valid JSON`)],
  ['a part of a stream without a message', { type: 'page', token: SECRET }],
])('the error about %s does not contain it', (_, error) => {
  const { message, cause } = toLlmError(error, CONTEXT)
  expect(`${message} ${String(cause)}`).not.toContain(SECRET)
  expect(message.length).toBeLessThan(200)
})

test.each<[string, unknown]>([
  ['of most vendors', answered(400, JSON.stringify({ error: { message: 'no such model', type: 'x' } }))],
  ['in a list', answered(400, JSON.stringify([{ error: { message: 'no such model' } }]))],
  ['of Ollama', answered(404, JSON.stringify({ error: 'no such model' }))],
  ['of vLLM', answered(404, JSON.stringify({ object: 'error', message: 'no such model' }))],
  ['of FastAPI', answered(404, JSON.stringify({ detail: 'no such model' }))],
  [
    'of a check of FastAPI',
    answered(422, JSON.stringify({ detail: [{ loc: ['body', 'model'], msg: 'no such model' }] })),
  ],
  ['within a stream', { message: 'no such model', code: 404 }],
  ['of Ollama within a stream', new TypeValidationError({ value: { error: 'no such model' }, cause: new Error('x') })],
])('the error contains the message %s', (_, error) => {
  expect(toLlmError(error, CONTEXT).message).toContain('no such model')
})

test('a message has at most a thousand characters of the server', () => {
  const { message } = toLlmError(answered(400, JSON.stringify({ error: { message: 'x'.repeat(10_000) } })), CONTEXT)
  expect(message.length).toBeLessThan(1_100)
})
