/** Verdicts from the end of a command. Pure. Source: agent-core.md 5.2; agent-server-wire.md 5.10; P40. */

/** End of a hook's command; `failure` is the reason why there is no exit code. */
export type CommandEnd = { exit_code: number | null; failure: string | null; stdout: string; stderr: string }

export type HookVerdict = {
  /** False for a non-zero exit code, an invalid answer, and a command that did not end. */
  success: boolean
  blocked: boolean
  /** -1: there is none. */
  exit_code: number
  reason: string | null
  additional_context: string | null
  error: string | null
}

const BLOCKS = 2
const NO_EXIT_CODE = -1

/**
 * Exit code 2 blocks, and so does `deny` on standard output whatever the exit code; `allow` never revokes a block.
 * Every other non-zero exit code is a failure, which `on_error` turns into a verdict: `allow` does not block,
 * `deny` does (F13).
 */
export function verdictOf({ exit_code, failure, stdout, stderr }: CommandEnd, on_error: 'allow' | 'deny'): HookVerdict {
  const answer = failure === null ? objectIn(stdout) : {}
  const decision = typeof answer['decision'] === 'string' ? answer['decision'].toLowerCase() : answer['decision']
  const isInvalid = decision !== undefined && decision !== null && decision !== 'allow' && decision !== 'deny'
  const error = failure ?? (isInvalid ? INVALID : failedExit(exit_code))
  const isRefused = exit_code === BLOCKS || decision === 'deny' || answer['continue'] === false
  const blocked = isRefused || (error !== null && on_error === 'deny')
  return {
    success: error === null && exit_code === 0,
    blocked,
    exit_code: exit_code ?? NO_EXIT_CODE,
    reason: textIn(answer['reason']) ?? (blocked ? reasonOf(isRefused, stderr, error) : null),
    additional_context: textIn(answer['additionalContext']),
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

/** The text parsed as a JSON object; empty for any other text. */
function objectIn(text: string): Record<string, unknown> {
  if (!text.trimStart().startsWith('{')) return {}
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    // Output that is no JSON object is not an answer.
    return {}
  }
}
