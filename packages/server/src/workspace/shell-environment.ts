/** The shell as the operator sets it up: variables that pass to commands, and a file that shells read first. Source: docs/operations.md, The shell of commands. */

/** `passed`: variables of the server for every command. `setup`: absolute path of the file; null: none. */
export type ShellEnvironment = { passed: Readonly<Record<string, string>>; setup: string | null }

export const PLAIN_SHELL: ShellEnvironment = { passed: {}, setup: null }

/** Variables that every shell sets for itself. */
const OF_SHELL = new Set(['_', 'PWD', 'OLDPWD', 'SHLVL', 'AI_AGENT_RUN'])

/** Script for bash that prints the variables before and after it has read the file `$1`. */
export const PRINT_VARIABLES = `env -0; printf '\\0'; { . "$1"; } </dev/null >/dev/null 2>&1; env -0`

/** The variables that are new or different after the file; null for another text. */
export function changedVariables(printed: string): Record<string, string> | null {
  const [before, after] = printed.split('\0\0').map((text) => new Map(text.split('\0').flatMap(entryOf)))
  if (before === undefined || after === undefined) return null
  const changed = [...after].filter(([name, value]) => !OF_SHELL.has(name) && before.get(name) !== value)
  return Object.fromEntries(changed)
}

const entryOf = (line: string): [string, string][] => {
  const at = line.indexOf('=')
  return at > 0 && /^[A-Za-z_]\w*$/.test(line.slice(0, at)) ? [[line.slice(0, at), line.slice(at + 1)]] : []
}
