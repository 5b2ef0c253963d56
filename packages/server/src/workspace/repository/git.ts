/**
 * Runs git in a workspace: arguments as a list, a fixed environment, and a credential that only this process gets.
 *
 * Invariants
 *   G3. A credential is in the environment of one git process only: not in a URL, an argument, a configuration file, a log or
 *       an event (F29).
 *   G4. The configuration and the stored logins of the server's account are not used.
 */
import type { ExecResult, Workspace } from '../workspace.ts'
import { GitFailure } from './failure.ts'
import type { Credential } from './remote.ts'

export type GitOptions = {
  /** Relative to the working directory. */
  cwd?: string
  /** Remote and credential; absent: git makes no connection. */
  remote?: { slug: string; credential: Credential | null; isPlain: boolean }
  /** Milliseconds; null: only the signal ends it. */
  timeoutMs?: number | null
}

const MAX_BYTES = 256 * 1024

/** A credential helper that reads the environment. Git calls it with `get`, `store` or `erase`. */
const helper = (username: string, variable: string): string =>
  `!f() { test "$1" = get && test -n "$${variable}" && printf "username=%s\\npassword=%s\\n" "${username}" "$${variable}" || true; }; f`

const OWN_HELPER = helper('$PARLEY_GIT_USERNAME', 'PARLEY_GIT_PASSWORD')

/** Configuration of a clone that makes git read the token from a variable of its environment; contains no secret. */
export const agentHelper = ({
  origin,
  variable,
  username,
}: {
  origin: string
  variable: string
  username: string
}): string => `credential.${origin}.helper=${helper(username, variable)}`

/**
 * Runs git to its end, whatever its exit code.
 * @throws GitFailure `GIT$TIMEOUT` when its time is over; the signal's reason when that aborts
 */
export async function git(
  workspace: Workspace,
  args: readonly string[],
  { cwd, remote, timeoutMs = null }: GitOptions,
  signal: AbortSignal,
): Promise<ExecResult> {
  const result = await workspace.exec(
    {
      argv: ['git', ...args],
      env: environment(workspace, remote),
      maxBytes: MAX_BYTES,
      isOwn: true,
      ...(cwd === undefined ? {} : { cwd }),
      ...(timeoutMs === null ? {} : { timeoutMs }),
    },
    signal,
  )
  if (result.timedOut) {
    throw new GitFailure('GIT$TIMEOUT', `${remote?.slug ?? 'git'} did not answer within ${(timeoutMs ?? 0) / 1000} s.`)
  }
  return result
}

function environment(workspace: Workspace, remote: GitOptions['remote']): Record<string, string> {
  const config: [string, string][] = [
    ['credential.helper', ''],
    ['core.askPass', ''],
    ['core.hooksPath', '/dev/null'],
    ['advice.detachedHead', 'false'],
  ]
  const env: Record<string, string> = {
    // The account's home contains logins (.netrc) and configuration that do not belong to the conversation.
    HOME: workspace.workingDir,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: remote === undefined ? '' : remote.isPlain ? 'http:https' : 'https',
    LC_ALL: 'C',
  }
  if (remote?.credential) {
    const { scope, username, password } = remote.credential
    config.push([`credential.${scope}.helper`, OWN_HELPER])
    env['PARLEY_GIT_USERNAME'] = username
    env['PARLEY_GIT_PASSWORD'] = password
  }
  env['GIT_CONFIG_COUNT'] = String(config.length)
  for (const [index, [key, value]] of config.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key
    env[`GIT_CONFIG_VALUE_${index}`] = value
  }
  return env
}
