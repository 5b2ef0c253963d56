import { expect, test } from 'vitest'
import { firstSteps, uiLine } from './first-steps.ts'

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

test('a start prints the link of the web UI, to a journal without a login code', async () => {
  const server = {
    uiLink: async ({ hasCode }: { hasCode: boolean }) => ({
      url: hasCode ? `${URL}/#login=x` : `${URL}/`,
      isLoggedIn: hasCode,
    }),
  }
  expect(await uiLine(server, { env: {} })).toBe(`open the web UI: ${URL}/#login=x`)
  expect(await uiLine(server, { env: { JOURNAL_STREAM: '8:1' } })).toBe(
    `the web UI is at ${URL}/; get a link that logs in with: parley open`,
  )
  expect(await uiLine({ uiLink: async () => null }, { env: {} })).toBeNull()
})
