import { describe, expect, test } from 'vitest'
import { verdictOf } from './verdict.ts'

const CODES = [0, 1, 2, 3, 126, 127, 255, null] as const
const ANSWERS: readonly { stdout: string; decides: 'deny' | 'nothing' | 'invalid' }[] = [
  { stdout: '', decides: 'nothing' },
  { stdout: 'deny', decides: 'nothing' },
  { stdout: '{"decision": "deny"', decides: 'nothing' },
  { stdout: '["deny"]', decides: 'nothing' },
  { stdout: '{}', decides: 'nothing' },
  { stdout: '{"decision": "allow"}', decides: 'nothing' },
  { stdout: ' {"decision": "Allow"}\n', decides: 'nothing' },
  { stdout: '{"decision": null, "continue": true}', decides: 'nothing' },
  { stdout: '{"continue": 0}', decides: 'nothing' },
  { stdout: '{"decision": "DENY"}', decides: 'deny' },
  { stdout: '{"continue": false}', decides: 'deny' },
  { stdout: '{"decision": "allow", "continue": false}', decides: 'deny' },
  { stdout: '{"decision": 1}', decides: 'invalid' },
  { stdout: '{"decision": "perhaps"}', decides: 'invalid' },
]

describe.each(ANSWERS)('a hook that prints $stdout', ({ stdout, decides }) => {
  describe.each(CODES)('and ends with exit code %s', (exit_code) => {
    const failure = exit_code === null ? 'The hook did not end within 1 s and was stopped.' : null
    const isDenied = exit_code === 2 || (failure === null && decides === 'deny')
    const isFailed = failure !== null || decides === 'invalid' || (exit_code !== 0 && exit_code !== 2)

    test.each(['allow', 'deny'] as const)('has, with on_error %s, the verdict of the table of P40', (on_error) => {
      const verdict = verdictOf({ exit_code, failure, stdout, stderr: '' }, on_error)
      expect(verdict.blocked).toBe(isDenied || (on_error === 'deny' && isFailed))
      expect(verdict.success).toBe(exit_code === 0 && !isFailed)
      expect(verdict.error !== null).toBe(isFailed)
      expect(verdict.exit_code).toBe(exit_code ?? -1)
    })
  })
})

test.each([
  [{ exit_code: 2, stdout: '{"reason": "no net"}', stderr: 'x' }, 'no net'],
  [{ exit_code: 2, stdout: 'not json', stderr: ' from stderr \n' }, 'from stderr'],
  [{ exit_code: 2, stdout: '', stderr: ' ' }, 'Blocked by hook'],
  [{ exit_code: 0, stdout: '{"decision": "deny", "reason": 7}', stderr: '' }, 'Blocked by hook'],
  [{ exit_code: 0, stdout: '{"reason": "all is well"}', stderr: '' }, 'all is well'],
  [{ exit_code: 1, stdout: '', stderr: 'trouble' }, null],
])('the reason of the verdict on %j is %j', (ended, reason) => {
  expect(verdictOf({ ...ended, failure: null }, 'allow').reason).toBe(reason)
})

test('a block because of a failure names the failure', () => {
  const { reason } = verdictOf({ exit_code: 1, failure: null, stdout: '', stderr: 'trouble' }, 'deny')
  expect(reason).toBe('A hook that has to agree failed: The hook ended with exit code 1.')
})
