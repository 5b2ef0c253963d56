/**
 * Git for read-only queries: arguments as a list, without the account's configuration, without network access, and without
 * programs that the repository itself configures.
 */
import { ParleyError } from '@parley/protocol'
import type { Workspace } from '../workspace.ts'

/** Bytes of an answer; a longer one is refused, never truncated. */
const MAX_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 60_000

type Configuration = readonly (readonly [key: string, value: string])[]

const CONFIG: Configuration = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.quotePath', 'false'],
  // A caller of these queries may read the files anyway, so their owner is no reason to refuse.
  ['safe.directory', '*'],
]

const FIXED: Readonly<Record<string, string>> = {
  GIT_ALLOW_PROTOCOL: '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  // A directory of a repository may be a mount of its own in the sandbox.
  GIT_DISCOVERY_ACROSS_FILESYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
}

/** Environment of git. `more`: configuration that takes precedence over that of the repository. */
export const gitEnvironment = (workspace: Workspace, more: Configuration = []): Record<string, string> => ({
  HOME: workspace.workingDir,
  ...FIXED,
  ...asVariables([...CONFIG, ...more]),
})

const asVariables = (pairs: Configuration): Record<string, string> => ({
  GIT_CONFIG_COUNT: String(pairs.length),
  ...Object.fromEntries(
    pairs.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
})

/** Git in one directory. */
export type Git = {
  /** Returns the output; null when the exit code is not 0. */
  ask(args: readonly string[], signal: AbortSignal): Promise<string | null>
  /**
   * Returns the output. @throws ParleyError `bad_request` with git's message when the exit code is not 0.
   * @param folder existing folder outside of the workspace that git may write, too
   */
  tell(args: readonly string[], signal: AbortSignal, folder?: string): Promise<string>
}

/** @param directory absolute, existing */
export function gitIn(workspace: Workspace, directory: string): Git {
  const run = async (args: readonly string[], signal: AbortSignal, folder?: string) => {
    const result = await workspace.exec(
      {
        argv: ['git', ...args],
        cwd: directory,
        env: gitEnvironment(workspace),
        maxBytes: MAX_BYTES,
        timeoutMs: TIMEOUT_MS,
        ...(folder === undefined ? {} : { folder }),
      },
      signal,
    )
    if (result.timedOut) throw new ParleyError('bad_request', `git ${args[0]} took longer than ${TIMEOUT_MS / 1000} s`)
    if (result.dropped.stdout > 0)
      throw new ParleyError('bad_request', `what git ${args[0]} has to say is longer than ${MAX_BYTES} bytes`)
    return result
  }
  return {
    async ask(args, signal) {
      const { exit_code, stdout } = await run(args, signal)
      return exit_code === 0 ? stdout : null
    },
    async tell(args, signal, folder) {
      const { exit_code, stdout, stderr } = await run(args, signal, folder)
      if (exit_code === 0) return stdout
      throw new ParleyError('bad_request', stderr.trim() || `git ${args[0]} ended with ${exit_code}`)
    },
  }
}
