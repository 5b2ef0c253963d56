import { expect, test } from 'vitest'
import { verdictOfReply } from './reply.ts'

const reply = (text: string, failure: string | null = null) => ({ text, failure })

test.each<[string, boolean, string | null]>([
  ['{"decision":"deny","reason":"no"}', true, 'no'],
  ['{"decision":"DENY"}', true, 'Blocked by hook'],
  ['{"decision":"allow","reason":"fine"}', false, 'fine'],
  ['Well. ```json\n{"decision": "deny", "reason": "a } in \\"text\\""}\n``` So be it.', true, 'a } in "text"'],
  ['{broken {"decision":"deny","reason":"inner"}', true, 'inner'],
  ['{"decision":"allow"} {"decision":"deny"}', false, null],
])('the reply %j is read as a verdict', (text, blocked, reason) => {
  expect(verdictOfReply(reply(text), 'allow')).toMatchObject({
    success: true,
    blocked,
    reason,
    error: null,
    exit_code: 0,
  })
  expect(verdictOfReply(reply(text), 'deny')).toMatchObject({ success: true, blocked, reason })
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
])('the reply %j (failure: %s) is no verdict, so on_error decides', (text, failure) => {
  const passed = verdictOfReply(reply(text, failure), 'allow')
  expect(passed).toMatchObject({ success: false, blocked: false, exit_code: -1, additional_context: null })
  expect(passed.error).not.toBeNull()
  const denied = verdictOfReply(reply(text, failure), 'deny')
  expect(denied).toMatchObject({
    success: false,
    blocked: true,
    reason: expect.stringContaining('has to agree failed'),
  })
})

test('replies of up to a million opening braces are no verdicts', () => {
  for (const text of ['{'.repeat(1_000_000), '{"'.repeat(500_000), '{"a":'.repeat(200_000)])
    expect(verdictOfReply(reply(text), 'allow').success).toBe(false)
})
