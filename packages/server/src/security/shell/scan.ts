/** Result of reading a shell text. */

export type ShellCommand = {
  /** In lower case, without its directory; null: unknown. */
  name: string | null
  /** Arguments with quotes and expansions resolved; unknown parts are UNKNOWN characters. */
  args: readonly string[]
  /** Paths that it writes by redirection, resolved against the current folder. */
  writes: readonly string[]
  cwd: string
  isElevated: boolean
  /** True when the parser found an error inside the command. */
  isBroken: boolean
}
export type ShellDanger = 'fetch-to-exec' | 'fork-bomb'
export type ShellScan = {
  commands: readonly ShellCommand[]
  dangers: ReadonlySet<ShellDanger>
  /** True when some executed text could not be read. */
  isUncertain: boolean
  /** True when the text exceeded a limit and was not read to its end. */
  isPartial: boolean
}
