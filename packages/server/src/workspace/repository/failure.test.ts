import { expect, test } from 'vitest'
import type { ExecResult } from '../workspace.ts'
import { gitFailure, lastWords, type GitFailureCode } from './failure.ts'

const ended = (stderr: string, more: Partial<ExecResult> = {}): ExecResult => ({
  exit_code: 128,
  signal: null,
  stdout: '',
  stderr,
  timedOut: false,
  dropped: { stdout: 0, stderr: 0 },
  ...more,
})

test.each<[string, GitFailureCode]>([
  ["fatal: could not read Username for 'https://github.com': terminal prompts disabled", 'GIT$AUTHENTICATION_FAILED'],
  ["remote: HTTP Basic: Access denied\nfatal: Authentication failed for 'https://x/'", 'GIT$AUTHENTICATION_FAILED'],
  ["fatal: unable to access 'https://x/': The requested URL returned error: 403", 'GIT$AUTHENTICATION_FAILED'],
  ['remote: Repository not found.\nfatal: repository not found', 'GIT$REPOSITORY_NOT_FOUND'],
  ["fatal: repository 'https://x/a.git/' not found", 'GIT$REPOSITORY_NOT_FOUND'],
  ["fatal: unable to access 'https://x/': Failed to connect: Connection timed out", 'GIT$TIMEOUT'],
  ["fatal: unable to access 'https://x/': Could not resolve host: x", 'GIT$CLONE_FAILED'],
  ['fatal: write error: No space left on device', 'GIT$CLONE_FAILED'],
  ['', 'GIT$CLONE_FAILED'],
])('the git message %j is reported as %s', (stderr, code) => {
  const failure = gitFailure(ended(stderr), 'x/a', [])
  expect(failure.code).toBe(code)
  expect(failure.message).toContain('x/a')
})

test('a missing git program is named in the failure', () => {
  expect(gitFailure(ended('git: command not found', { exit_code: 127 }), 'x/a', []).message).toContain('not installed')
})

test('the failure repeats the message of git without the credential in any form', () => {
  const token = 'a+b/c=d'
  const header = Buffer.from(`oauth2:${token}`).toString('base64')
  const stderr = `fatal: ${token} ${encodeURIComponent(token)} ${header} https://u:p@host/x`
  const { message } = gitFailure(ended(stderr), 'x/a', [token, `oauth2:${token}`])
  for (const spelling of [token, encodeURIComponent(token), header, 'u:p@']) expect(message).not.toContain(spelling)
})

test('the failure contains only the end of a long output of git', () => {
  expect(lastWords(Array.from({ length: 9 }, (_, line) => `line ${line}`).join('\n'))).toBe('line 6 line 7 line 8')
  expect(lastWords('x'.repeat(5000)).length).toBeLessThan(1000)
})
