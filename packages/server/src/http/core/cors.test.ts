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
    ['HTTPS://App.Example.Org', true],
    ['http://localhost.example.org', false],
    ['xhttp://localhost', false],
    ['http://localhost:5173.example.org', false],
    ['http://example.org/?http://localhost', false],
    ['null', false],
  ])('%s: %s', (origin, allowed) => {
    expect(cors.answer(origin)['access-control-allow-origin']).toBe(allowed ? origin : undefined)
    expect(cors.preflight(origin, undefined).allowed).toBe(allowed)
  })
})

test('an answer for any page is readable from every web origin, and not from the origin null of a sandboxed frame', () => {
  for (const origin of ['https://any.example', 'http://any.example:81', 'HTTP://ANY.EXAMPLE']) {
    expect(cors.answer(origin, true)['access-control-allow-origin']).toBe(origin)
    expect(cors.preflight(origin, undefined, true)).toMatchObject({
      allowed: true,
      headers: { 'access-control-allow-origin': origin },
    })
    expect(cors.answer(origin)).toEqual({ vary: 'Origin' })
  }
  for (const origin of ['null', 'file://any', 'https://any.example/path', 'https://']) {
    expect(cors.answer(origin, true)).toEqual({ vary: 'Origin' })
    expect(cors.preflight(origin, undefined, true)).toMatchObject({ allowed: false, text: 'Disallowed CORS origin' })
  }
})

test('the origin * allows every origin', () => {
  expect(createCors(['*']).isAllowed('https://any.example')).toBe(true)
})

test('an allowed page may read the headers about retries and limits', () => {
  const headers = cors.answer('http://localhost')
  expect(headers['access-control-expose-headers']).toContain('Retry-After')
  expect(headers['access-control-allow-credentials']).toBe('true')
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

test('without keys, origins on this machine are allowed only when they are listed', () => {
  const strict = createCors(['http://localhost:3000'], false)
  expect(['http://localhost:3000', 'http://localhost:3001', 'http://127.0.0.1:3000'].map(strict.isAllowed)).toEqual([
    true,
    false,
    false,
  ])
})
