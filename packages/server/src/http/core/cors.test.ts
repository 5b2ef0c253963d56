import { describe, expect, test } from 'vitest'
import { createCors } from './cors.ts'

const cors = createCors(['https://app.example.org/'])

describe('which origins may read an answer', () => {
  test.each([
    ['http://localhost', true],
    ['http://localhost:5173', true],
    ['https://127.0.0.1:8443', true],
    ['http://[::1]:3000', true],
    ['https://app.example.org', true],
    ['https://app.example.org:444', false],
    ['http://app.example.org', false],
    ['http://localhost.example.org', false],
    ['http://localhost:5173.example.org', false],
    ['http://example.org/?http://localhost', false],
    ['null', false],
  ])('%s: %s', (origin, allowed) => {
    expect(cors.answer(origin)['access-control-allow-origin']).toBe(allowed ? origin : undefined)
    expect(cors.preflight(origin, undefined).allowed).toBe(allowed)
  })
})

test('every CORS answer varies by origin', () => {
  for (const origin of [undefined, 'https://evil.example', 'http://localhost'])
    expect(cors.answer(origin).vary).toBe('Origin')
})

test('an allowed preflight echoes the requested headers and can be cached for ten minutes', () => {
  const { headers, text } = cors.preflight('http://localhost:1', 'x-session-api-key,content-type')
  expect(text).toBe('OK')
  expect(headers['access-control-allow-headers']).toBe('x-session-api-key,content-type')
  expect(headers['access-control-allow-methods']).toContain('PATCH')
  expect(headers['access-control-max-age']).toBe('600')
  expect(headers['access-control-allow-credentials']).toBe('true')
})

test('a refused preflight names the reason and no origin', () => {
  const { allowed, headers, text } = cors.preflight('https://evil.example', undefined)
  expect({ allowed, text }).toEqual({ allowed: false, text: 'Disallowed CORS origin' })
  expect(headers).not.toHaveProperty('access-control-allow-origin')
})
