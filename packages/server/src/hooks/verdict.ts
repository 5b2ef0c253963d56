/** What the end of a command means. Pure. Source: agent-core.md 5.2; agent-server-wire.md 5.10; P40. */

/** How the command of a hook ended; `failure` says why there is no exit code. */
export type Ended = { exit_code: number | null; failure: string | null; stdout: string; stderr: string }

export type Verdict = {
  /** False for a non-zero exit code, for an answer that cannot be used, and where there was no end. */
  success: boolean
  blocked: boolean
  /** -1 where there is none. */
  exit_code: number
  reason: string | null
  additional_context: string | null
  error: string | null
}

const BLOCKS = 2
const NO_EXIT_CODE = -1

/**
 * Exit code 2 blocks, and so does a decision on standard output whatever the exit code; an `allow` never takes a block back.
 * Everything else that is not 0 is a failure, and `on_error` decides what a failure means: `allow` (the default) lets what
 * the hook was asked about go on, `deny` blocks it (F13).
 */
export function verdictOf({ exit_code, failure, stdout, stderr }: Ended, on_error: 'allow' | 'deny'): Verdict {
  const said = failure === null ? objectIn(stdout) : {}
  const decision = typeof said['decision'] === 'string' ? said['decision'].toLowerCase() : said['decision']
  const isInvalid = decision !== undefined && decision !== null && decision !== 'allow' && decision !== 'deny'
  const error = failure ?? (isInvalid ? INVALID : failedExit(exit_code))
  const isRefused = exit_code === BLOCKS || decision === 'deny' || said['continue'] === false
  const blocked = isRefused || (error !== null && on_error === 'deny')
  return {
    success: error === null && exit_code === 0,
    blocked,
    exit_code: exit_code ?? NO_EXIT_CODE,
    reason: textIn(said['reason']) ?? (blocked ? reasonOf(isRefused, stderr, error) : null),
    additional_context: textIn(said['additionalContext']),
    error,
  }
}

const INVALID = 'The decision on standard output is neither "allow" nor "deny".'

function failedExit(exitCode: number | null): string | null {
  return exitCode === 0 || exitCode === BLOCKS ? null : `The hook ended with exit code ${exitCode ?? NO_EXIT_CODE}.`
}

function reasonOf(isRefused: boolean, stderr: string, error: string | null): string {
  if (!isRefused) return `A hook that has to agree failed: ${error ?? ''}`.trim()
  return textIn(stderr) ?? 'Blocked by hook'
}

const textIn = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** The JSON object that a text is; empty for any other text. */
function objectIn(text: string): Record<string, unknown> {
  if (!text.trimStart().startsWith('{')) return {}
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    // What a hook prints is its own business unless it is an answer.
    return {}
  }
}
