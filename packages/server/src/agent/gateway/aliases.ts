/** Maps tool names and argument shapes that models use out of habit to the registered tools. Source: agent-core.md 1.7. */
import { shellQuote } from '../../lib/index.ts'
import { canonicalToolName, propertiesOf, type Tool } from '../../tools/index.ts'
import type { Arguments } from './arguments.ts'
import { ARGUMENTS, NAMES, PREFIXES } from './habits.ts'
import { shapeEditor, shapeTasks, shapeTerminal, translate } from './shapes.ts'

/** `refusal`: why the call cannot be translated. */
export type NamedCall = { name: string; args: Arguments; refusal?: string }

const TERMINAL = 'terminal'
/** Programs whose name stands before the command. */
const PREFIXING = new Set(['git', 'reset'])
const BARE_COMMANDS = new Set(['find', 'git', 'ls', 'pwd'])
const PREDICTED = new Set(['security_risk', 'summary'])

/** Returns the call under the registered name that it means, else unchanged. A registered name always means itself. */
export function resolveName({ name, args }: NamedCall, tools: ReadonlyMap<string, Tool>): NamedCall {
  if (tools.has(name)) return translated(name, args, tools, false)
  const bare = name.trim().replace(PREFIXES, '')
  const leading = /^[\w-]+/.exec(bare)?.[0] ?? ''
  if (tools.has(leading)) return translated(leading, args, tools, false)
  const known = canonicalToolName(leading).replaceAll('-', '_')
  if (tools.has(known)) return translated(known, args, tools, false)
  const habit = NAMES.find(({ names, tool }) => names.includes(known) && tools.has(tool))
  if (habit !== undefined) {
    const { [SET]: command, ...implied } = habit.set ?? {}
    const set = { ...implied, ...(command !== undefined && !(SET in args) && { [SET]: command }) }
    return translated(habit.tool, { ...set, ...args }, tools, habit.isInMilliseconds === true)
  }
  return asCommand(known, name, args, tools)
}

const SET = 'command'

/** Renames, drops and reshapes the arguments of a tool of the service; those of clients and MCP servers stay unchanged. */
function translated(
  name: string,
  args: Arguments,
  tools: ReadonlyMap<string, Tool>,
  isInMilliseconds: boolean,
): NamedCall {
  const tool = tools.get(name)
  const habit = ARGUMENTS[name]
  if (tool === undefined || habit === undefined || canonicalToolName(tool.definition.kind) !== name)
    return { name, args }
  const known = translate(args, habit, new Set([...Object.keys(propertiesOf(tool.parameters)), ...PREDICTED]))
  switch (name) {
    case TERMINAL:
      return withPatch(shapeTerminal(known, isInMilliseconds), tools)
    case 'file_editor':
      return {
        name,
        args: shapeEditor(translate(shapeEditor(known), habit, new Set(Object.keys(propertiesOf(tool.parameters))))),
      }
    case 'task_tracker':
      return { name, args: shapeTasks(known) }
    default:
      return { name, args: known }
  }
}

const PATCH_IN_SHELL = /^\s*(?:apply_?patch\b|\*\*\* Begin Patch)/

/** A patch that is given to the shell: there is no such program. */
function withPatch(args: Arguments, tools: ReadonlyMap<string, Tool>): NamedCall {
  const { command, timeout: _, ...rest } = args
  if (
    typeof command !== 'string' ||
    !command.includes('*** Begin Patch') ||
    !/\bapply_?patch\b|^\s*\*\*\* Begin/.test(command)
  )
    return { name: TERMINAL, args }
  const isAlone = PATCH_IN_SHELL.test(command)
  if (isAlone && tools.has('apply_patch')) return { name: 'apply_patch', args: { ...predicted(rest), patch: command } }
  const remedy = tools.has('apply_patch')
    ? 'call the tool apply_patch with the parameter patch, and with paths that are relative to the workspace'
    : 'call the tool file_editor with command str_replace, path, old_str and new_str'
  return { name: TERMINAL, args, refusal: `command holds a patch, and apply_patch is no program; ${remedy}` }
}

/** Names that are programs or searches, as a command of the terminal. */
function asCommand(known: string, name: string, args: Arguments, tools: ReadonlyMap<string, Tool>): NamedCall {
  if (!tools.has(TERMINAL)) return { name, args }
  const search = known === 'grep' ? known : NAMES.find(({ names }) => names.includes(known))?.tool
  const habit = search === undefined ? undefined : ARGUMENTS[search]
  const own = new Set(['pattern', 'path', 'include', ...PREDICTED])
  const command = commandFor(search ?? known, known, habit === undefined ? args : translate(args, habit, own))
  return command === null ? { name, args } : { name: TERMINAL, args: { ...predicted(args), command } }
}

/** The shell command that a call to a tool of this name means; null for none. */
function commandFor(name: string, known: string, args: Arguments): string | null {
  const hasOwnArguments = Object.keys(args).some((key) => !PREDICTED.has(key))
  if (BARE_COMMANDS.has(known) && !hasOwnArguments) return known
  if (name === 'grep') return grepCommand(args)
  if (name === 'glob') return globCommand(args)
  if (name === 'list') return `ls -la -- ${shellQuote(typeof args['path'] === 'string' ? args['path'] : '.')}`
  if (!PREFIXING.has(name) || typeof args['command'] !== 'string') return null
  const command = args['command']
  return command.trim().split(/\s/, 1)[0] === name ? command : `${name} ${command}`
}

/** The files whose path fits a pattern, newest first where ripgrep is installed. */
function globCommand({ pattern, path }: Arguments): string | null {
  if (typeof pattern !== 'string' || pattern.trim() === '') return null
  const where = shellQuote(typeof path === 'string' && path !== '' ? path : '.')
  const name = shellQuote(pattern.slice(pattern.lastIndexOf('/') + 1))
  const rg = `rg --files --sortr modified --glob ${shellQuote(pattern)} -- ${where}`
  return `if command -v rg >/dev/null 2>&1; then ${rg}; else find ${where} -type f -name ${name} -not -path '*/.git/*'; fi`
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
