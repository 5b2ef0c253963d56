/** Arguments whose shape, not only their name, differs from that of the tool. Pure. Source: agent-core.md 1.7. */
import { isRecord } from '@parley/protocol'
import { shellQuote } from '../../lib/index.ts'
import type { Arguments } from './arguments.ts'
import { type ArgumentHabit, TASKS } from './habits.ts'

/** Renames and drops arguments. @param own parameters of the tool, which are never touched */
export function translate(args: Arguments, habit: ArgumentHabit, own: ReadonlySet<string>): Arguments {
  const result: Arguments = {}
  const names = new Map(Object.entries(habit.rename).flatMap(([to, from]) => from.map((name) => [name, to] as const)))
  for (const [name, value] of Object.entries(args)) {
    if (own.has(name)) result[name] = other(value, habit.values?.[name])
    else if (habit.drop.includes(name) || habit.dropIf?.[name]?.includes(value) === true) continue
    else {
      const to = names.get(name)
      // A second name for the same parameter stays, so that it is refused by its name.
      result[to === undefined || to in args || to in result ? name : to] = value
    }
  }
  return result
}

const other = (value: unknown, values: Readonly<Record<string, string>> = {}): unknown =>
  typeof value === 'string' && Object.hasOwn(values, value) ? values[value] : value

/** Largest `timeout` in seconds of a tool that counts in milliseconds; a larger number is in milliseconds. */
const MAX_SECONDS = 10_000

/** The arguments of the terminal: a command as a list, another directory, input of a session, times in milliseconds. */
export function shapeTerminal(args: Arguments, isInMilliseconds: boolean): Arguments {
  const { chars, session_id: _, working_dir, timeout_ms, ...rest } = args
  const result: Arguments = 'chars' in args || 'session_id' in args ? { ...rest, ...typed(chars) } : rest
  if (Array.isArray(result['command'])) result['command'] = commandOf(result['command'])
  if (result['reset'] !== undefined && result['command'] === undefined) result['command'] = ''
  const { command, timeout } = result
  if (typeof working_dir === 'string' && typeof command === 'string' && command.trim() !== '')
    result['command'] = `cd ${shellQuote(working_dir)} && {\n${command}\n}`
  const inMs = timeout_ms ?? (isInMilliseconds && Number(timeout) >= MAX_SECONDS ? timeout : undefined)
  if (inMs !== undefined) result['timeout'] = Number(inMs) / 1000
  return result
}

/** Text for a running program; nothing means waiting. Enter follows every text, control characters are keys. */
function typed(chars: unknown): Arguments {
  if (chars === undefined || chars === '') return { command: '' }
  if (typeof chars !== 'string') return { command: chars }
  const isKey = chars.length === 1 && chars < '\u001B'
  const key = isKey ? `C-${String.fromCharCode(chars.charCodeAt(0) + 96)}` : chars.replace(/\r?\n$/, '')
  return { command: chars === '\n' || chars === '\r' ? 'ENTER' : key, is_input: true }
}

/** The script of `["bash", "-lc", script]`; the words of another list, quoted. */
function commandOf(list: readonly unknown[]): unknown {
  if (!list.every((word) => typeof word === 'string')) return list
  const [program = '', option = '', script] = list
  if (/^(.*\/)?(ba|z|da)?sh$/.test(program) && /^-\w*c$/.test(option) && script !== undefined && list.length === 3)
    return script
  if (/^apply_?patch$/.test(program)) return list.join(' ')
  return list.length === 1
    ? program
    : list.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word))).join(' ')
}

/** The arguments of the editor: line numbers in place of a range, a list of one edit, a replacement of nothing. */
export function shapeEditor(args: Arguments): Arguments {
  const { start_line, end_line, limit, edits, ...rest } = args
  const result: Arguments = { ...rest }
  const list = typeof edits === 'string' ? decoded(edits) : edits
  const [edit, ...others] = Array.isArray(list) ? (list as unknown[]) : []
  if (isRecord(edit) && others.length === 0) Object.assign(result, edit)
  else if (edits !== undefined) result['edits'] = edits
  const [first, last, count] = [start_line, end_line, limit].map((value) => (value === undefined ? NaN : Number(value)))
  const isRange = result['command'] === 'view' && result['view_range'] === undefined
  if (isRange && [start_line, end_line, limit].some((value) => value !== undefined)) {
    const from = Number.isNaN(first) ? 1 : Math.max(1, first!)
    result['view_range'] = [from, !Number.isNaN(last) ? last : Number.isNaN(count) ? -1 : from + count! - 1]
  }
  if (result['command'] === 'str_replace' && result['old_str'] === '' && typeof result['new_str'] === 'string') {
    const { old_str: _, new_str, ...created } = result
    return { ...created, command: 'create', file_text: new_str }
  }
  return result
}

const TASK_MEMBERS = new Set(['title', 'notes', 'status'])

/** The arguments of the task tracker: the members of each task, or its title alone. */
export function shapeTasks(args: Arguments): Arguments {
  const list = typeof args['task_list'] === 'string' ? decoded(args['task_list']) : args['task_list']
  // Nothing to plan: an empty plan would delete the list.
  if (list === undefined && args['command'] === 'plan') return { ...args, command: 'view' }
  if (!Array.isArray(list)) return args
  const tasks = (list as unknown[]).map((task) => {
    if (typeof task === 'string') return { title: task }
    return isRecord(task) ? translate(task, TASKS, TASK_MEMBERS) : task
  })
  return { ...args, task_list: tasks }
}

function decoded(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
