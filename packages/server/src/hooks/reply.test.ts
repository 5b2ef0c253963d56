import { expect, test } from 'vitest'
import { verdictOfReply } from './reply.ts'

const said = (text: string, failure: string | null = null) => ({ text, failure })

test.each<[string, boolean, string | null]>([
  ['{"decision":"deny","reason":"no"}', true, 'no'],
  ['{"decision":"DENY"}', true, 'Blocked by hook'],
  ['{"decision":"allow","reason":"fine"}', false, 'fine'],
  ['Well. ```json\n{"decision": "deny", "reason": "a } in \\"text\\""}\n``` So be it.', true, 'a } in "text"'],
  ['{broken {"decision":"deny","reason":"inner"}', true, 'inner'],
  ['{"decision":"allow"} {"decision":"deny"}', false, null],
])('%j is an answer', (text, blocked, reason) => {
  expect(verdictOfReply(said(text), 'allow')).toMatchObject({
    success: true,
    blocked,
    reason,
    error: null,
    exit_code: 0,
  })
  expect(verdictOfReply(said(text), 'deny')).toMatchObject({ success: true, blocked, reason })
})

test.each<[string, string | null]>([
  ['', null],
  ['deny', null],
  ['{"decision":"maybe"}', null],
  ['{"decision":false}', null],
  ['{"answer":"deny"}', null],
  ['["deny"]', null],
  ['{"decision":"deny"', null],
  ['{"decision":"allow"}', 'The hook did not end within 1 s and was stopped.'],
])('%j (%s) is none, and on_error decides', (text, failure) => {
  const passed = verdictOfReply(said(text, failure), 'allow')
  expect(passed).toMatchObject({ success: false, blocked: false, exit_code: -1, additional_context: null })
  expect(passed.error).not.toBeNull()
  const denied = verdictOfReply(said(text, failure), 'deny')
  expect(denied).toMatchObject({
    success: false,
    blocked: true,
    reason: expect.stringContaining('has to agree failed'),
  })
})

test('an answer made to be slow to read is read in no time', () => {
  const from = performance.now()
  for (const text of ['{'.repeat(1_000_000), '{"'.repeat(500_000), '{"a":'.repeat(200_000)])
    expect(verdictOfReply(said(text), 'allow').success).toBe(false)
  expect(performance.now() - from).toBeLessThan(2000)
})
