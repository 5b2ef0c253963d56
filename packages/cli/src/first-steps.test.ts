import { expect, test } from 'vitest'
import { firstSteps } from './first-steps.ts'

const URL = 'http://127.0.0.1:8000'
const FIRST = { key: 'pk_first', path: "/home/ann's/first-key" }

test('the key is printed on a terminal, and its file everywhere else', () => {
  expect(firstSteps(URL, FIRST, { stdout: { isTTY: true } })).toBe(
    `your key is pk_first (shown once): curl -H "X-Session-API-Key: pk_first" ${URL}/api/conversations/search`,
  )
  const elsewhere = firstSteps(URL, FIRST, { stdout: {} })
  expect(elsewhere).toContain(`$(cat '/home/ann'\\''s/first-key')`)
  expect(elsewhere).not.toContain('pk_first')
})
