/**
 * Git for read-only queries: arguments as a list, without the account's configuration, without network access, and without
 * programs that the repository itself names: filters, hooks, file system monitors, converters of texts, viewers of differences,
 * verifiers of signatures, and those of its submodules.
 */
import { ParleyError } from '@parley/protocol'
import type { Workspace } from '../workspace.ts'

/** Bytes of an answer; a longer one is refused, never truncated. */
const MAX_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 60_000
/** Programs of one repository that are turned off by name. */
const MAX_PROGRAMS = 100

type Configuration = readonly (readonly [key: string, value: string])[]

const CONFIG: Configuration = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.quotePath', 'false'],
  // With `diff`, git runs itself in submodules, under their own configuration.
  ['diff.submodule', 'short'],
  ['gc.auto', '0'],
  ['gpg.program', 'false'],
  ['gpg.openpgp.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['log.showSignature', 'false'],
  // A caller of these queries may read the files anyway, so their owner is no reason to refuse.
  ['safe.directory', '*'],
  ['submodule.recurse', 'false'],
]

const FIXED: Readonly<Record<string, string>> = {
  GIT_ALLOW_PROTOCOL: '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  // A directory of a repository may be a mount of its own in the sandbox.
  GIT_DISCOVERY_ACROSS_FILESYSTEM: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
}

/** Options of every `git diff`. The files of a submodule are not compared: git would run in it, under its configuration. */
export const DIFF: readonly string[] = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty']

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

/** Lists the programs that a configuration names under names of its own. Reading a configuration runs nothing. */
export const LIST_PROGRAMS: readonly string[] = [
  'config',
  '--null',
  '--name-only',
  '--get-regexp',
  '^(filter|hook)\\..*\\.',
]

/**
 * Configuration without these programs.
 * @param listed output of `LIST_PROGRAMS`
 * @throws ParleyError `bad_request` when there are too many.
 */
export function withoutPrograms(listed: string): Configuration {
  const names = new Set(listed.split('\0').flatMap((key) => /^((?:filter|hook)\.[^]+)\.[^.]+$/.exec(key)?.[1] ?? []))
  if (names.size > MAX_PROGRAMS)
    throw new ParleyError('bad_request', `the repository configures more than ${MAX_PROGRAMS} filters and hooks`)
  return [...names].flatMap((name): [string, string][] =>
    name.startsWith('hook.')
      ? [[`${name}.enabled`, 'false']]
      : [
          [`${name}.clean`, ''],
          [`${name}.smudge`, ''],
          [`${name}.process`, ''],
          [`${name}.required`, 'false'],
        ],
  )
}

/** Git in one directory. */
export type Git = {
  /** Returns the output; null when the exit code is not 0. */
  ask(args: readonly string[], signal: AbortSignal): Promise<string | null>
  /**
   * Returns the output. @throws ParleyError `bad_request` with git's message when the exit code is not 0.
   * @param folder existing folder outside of the workspace that git may write, too
   */
  tell(args: readonly string[], signal: AbortSignal, folder?: string): Promise<string>
  /** The environment of its commands, without the programs that the repository names. @throws as `tell` */
  environment(signal: AbortSignal): Promise<Record<string, string>>
}

/** Real paths of the git directory and the root of a working tree. Named, because a configuration may name others at any time. */
export type GitPlace = { gitDir: string; root: string }

/**
 * @param directory absolute, existing
 * @param place absent: git finds the repository of the directory
 */
export function gitIn(workspace: Workspace, directory: string, place?: GitPlace): Git {
  const named = place === undefined ? {} : { GIT_DIR: place.gitDir, GIT_WORK_TREE: place.root }
  const start = async (args: readonly string[], env: Record<string, string>, signal: AbortSignal, folder?: string) => {
    const result = await workspace.exec(
      {
        argv: ['git', ...args],
        cwd: directory,
        env,
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
  let more: Configuration | null = null
  const environment = async (signal: AbortSignal) => {
    // Finding a repository runs nothing.
    if (place !== undefined && more === null) {
      const { stdout } = await start(LIST_PROGRAMS, { ...gitEnvironment(workspace), ...named }, signal)
      more = withoutPrograms(stdout)
    }
    return { ...gitEnvironment(workspace, more ?? []), ...named }
  }
  const run = async (args: readonly string[], signal: AbortSignal, folder?: string) =>
    start(args, await environment(signal), signal, folder)
  return {
    environment,
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
