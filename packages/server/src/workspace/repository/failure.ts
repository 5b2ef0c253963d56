/** Failures of a clone: a code for programs, a sentence for people, never a credential. */
import type { ExecResult } from '../workspace.ts'

export type GitFailureCode =
  | 'GIT$AUTHENTICATION_FAILED'
  | 'GIT$BRANCH_NOT_FOUND'
  | 'GIT$CLONE_FAILED'
  | 'GIT$HOST_NOT_ALLOWED'
  | 'GIT$PROVIDER_NOT_CONFIGURED'
  | 'GIT$REPOSITORY_NOT_FOUND'
  | 'GIT$TIMEOUT'

export class GitFailure extends Error {
  readonly code: GitFailureCode
  constructor(code: GitFailureCode, message: string) {
    super(message)
    this.name = 'GitFailure'
    this.code = code
  }
}

/** Messages of git in the C locale, which are the only way to distinguish these cases. */
const REFUSED =
  /authentication failed|could not read (?:username|password)|terminal prompts disabled|invalid (?:username|credentials)|returned error: 40[13]|access denied|permission denied|not authori[sz]ed/i
const UNKNOWN =
  /repository .*not found|not found|does not exist|returned error: 404|does not appear to be a git repository/i
const SILENT = /timed out|operation too slow|timeout/i

const LAST_LINES = 3
const MAX_WORDS = 600

/** The failure of a git command that contacted `slug`. Pure; `secrets` never appear in it. */
export function gitFailure(result: ExecResult, slug: string, secrets: readonly string[]): GitFailure {
  const words = lastWords(result.stderr, secrets)
  const said = words === '' ? '' : ` git said: ${words}`
  if (result.exit_code === 127)
    return new GitFailure('GIT$CLONE_FAILED', `git is not installed here, so ${slug} cannot be cloned.`)
  if (result.timedOut || SILENT.test(words)) {
    return new GitFailure('GIT$TIMEOUT', `${slug} did not answer in time.${said}`)
  }
  if (REFUSED.test(words)) {
    const way =
      secrets.length === 0
        ? 'It is private or does not exist; store a token of its git provider and start again.'
        : 'Its host refused the stored token; store one that may read it and start again.'
    return new GitFailure('GIT$AUTHENTICATION_FAILED', `${slug} could not be read. ${way}${said}`)
  }
  if (UNKNOWN.test(words)) {
    return new GitFailure('GIT$REPOSITORY_NOT_FOUND', `There is no repository ${slug}, or it may not be seen.${said}`)
  }
  return new GitFailure('GIT$CLONE_FAILED', `${slug} could not be cloned.${said}`)
}

/** The last lines of a program's output, joined to one line, without secrets. */
export function lastWords(text: string, secrets: readonly string[] = []): string {
  const lines = masked(text, secrets)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return lines.slice(-LAST_LINES).join(' ').slice(-MAX_WORDS)
}

/** Masks every form in which a credential can appear: plain, in a URL, in a basic authentication header. */
function masked(text: string, secrets: readonly string[]): string {
  let shown = text.replace(/\/\/[^/@\s]+@/g, '//')
  for (const secret of secrets.filter((value) => value.length > 0)) {
    for (const spelling of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]) {
      shown = shown.replaceAll(spelling, '**********')
    }
  }
  return shown
}
