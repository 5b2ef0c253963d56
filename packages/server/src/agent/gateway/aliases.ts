/** Maps tool names and argument shapes that models use out of habit to the registered tools. Source: agent-core.md 1.7. */
import { shellQuote } from '../../lib/index.ts'
import type { Arguments } from './arguments.ts'

export type NamedCall = { name: string; args: Arguments }

const TERMINAL = 'terminal'
const FILE_EDITOR = 'file_editor'
const TERMINAL_ALIASES = new Set(['bash', 'command', 'execute', 'execute_bash', 'git', 'reset'])
/** Aliases that are programs: their name stands before the command. */
const PREFIXING = new Set(['git', 'reset'])
const BARE_COMMANDS = new Set(['find', 'git', 'ls', 'pwd'])
const EDITOR_ALIASES = new Set(['str_replace', 'str_replace_editor'])

/** Returns the call under the registered name that it means, else unchanged. A registered name always means itself. */
export function resolveName({ name, args }: NamedCall, isRegistered: (name: string) => boolean): NamedCall {
  if (isRegistered(name)) return { name, args }
  const leading = /^[\w-]+/.exec(name.trim())?.[0] ?? ''
  if (leading !== '' && isRegistered(leading)) return { name: leading, args }
  if (isRegistered(FILE_EDITOR) && EDITOR_ALIASES.has(leading)) return { name: FILE_EDITOR, args }
  if (!isRegistered(TERMINAL)) return { name, args }
  const command = commandFor(leading, args)
  if (command !== null) return { name: TERMINAL, args: { ...predicted(args), command } }
  // The error of the terminal about its arguments helps the model more than "not found".
  return { name: TERMINAL_ALIASES.has(leading) ? TERMINAL : name, args }
}

/** The shell command that a call to a tool of this name means; null for none. */
function commandFor(name: string, args: Arguments): string | null {
  const hasOwnArguments = Object.keys(args).some((key) => key !== 'security_risk' && key !== 'summary')
  if (BARE_COMMANDS.has(name) && !hasOwnArguments) return name
  if (name === 'grep') return grepCommand(args)
  if (!TERMINAL_ALIASES.has(name) || typeof args['command'] !== 'string') return null
  const command = args['command']
  if (!PREFIXING.has(name) || command.trim().split(/\s/, 1)[0] === name) return command
  return `${name} ${command}`
}

/** A case-insensitive recursive search: ripgrep where it is installed, else grep. */
function grepCommand(args: Arguments): string | null {
  const { pattern, path, include } = args
  if (typeof pattern !== 'string' || pattern.trim() === '') return null
  const where = shellQuote(typeof path === 'string' && path !== '' ? path : '.')
  const what = `-e ${shellQuote(pattern)}`
  const glob = typeof include === 'string' && include !== '' ? shellQuote(include) : null
  const rg = `rg --ignore-case --line-number --no-heading ${glob === null ? '' : `--glob ${glob} `}${what} -- ${where}`
  const grep = `grep -rniE ${glob === null ? '' : `--include=${glob} `}${what} -- ${where}`
  return `if command -v rg >/dev/null 2>&1; then ${rg}; else ${grep}; fi`
}

function predicted({ security_risk, summary }: Arguments): Arguments {
  return {
    ...(security_risk === undefined ? {} : { security_risk }),
    ...(summary === undefined ? {} : { summary }),
  }
}

/**
 * Adds the command that the other arguments of a file_editor call imply. Unchanged when it has one; null when none is implied.
 */
export function inferEditorCommand(args: Arguments): Arguments | null {
  if ('command' in args) return args
  const command =
    'old_str' in args
      ? 'str_replace'
      : 'insert_line' in args
        ? 'insert'
        : 'file_text' in args
          ? 'create'
          : 'path' in args
            ? 'view'
            : null
  return command === null ? null : { command, ...args }
}
