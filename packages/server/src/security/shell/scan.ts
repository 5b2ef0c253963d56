/** What reading a shell text tells. */

export type ShellCommand = {
  /** In lower case, without its directory; null when it can't be known. */
  name: string | null
  /** Quotes and expansions resolved; what isn't known is an UNKNOWN character in them. */
  args: readonly string[]
  /** Paths it writes to by redirection, as they are from where the shell stands. */
  writes: readonly string[]
  cwd: string
  isElevated: boolean
  /** The parser found an error inside of it. */
  isBroken: boolean
}
export type ShellDanger = 'fetch-to-exec' | 'fork-bomb'
export type ShellScan = {
  commands: readonly ShellCommand[]
  dangers: ReadonlySet<ShellDanger>
  /** Something would be executed that could not be read. */
  isUncertain: boolean
  /** The text was too much to be read to its end. */
  isPartial: boolean
}
