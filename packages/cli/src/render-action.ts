/** Renders an action in a few lines: enough for a decision about it. */
import type { Action } from '@parley/protocol'
import type { Colour } from './paint.ts'

export type ShownAction = { title: string; body: { colour: Colour; text: string }[] }

/** `short` shortens a path for display. */
export function renderAction(action: Action, short: (path: string) => string): ShownAction {
  switch (action.kind) {
    case 'TerminalAction':
      return terminal(action as Known<'TerminalAction'>)
    case 'FileEditorAction':
    case 'PlanningFileEditorAction':
      return edit(action as Known<'FileEditorAction'>, short)
    case 'ThinkAction':
      return { title: '', body: [{ colour: 'dim', text: (action as Known<'ThinkAction'>).thought }] }
    case 'TaskTrackerAction':
      return tasks(action as Known<'TaskTrackerAction'>)
    case 'GlobAction':
    case 'GrepAction': {
      const { pattern, path } = action as Known<'GlobAction'>
      return bare(path == null ? pattern : `${pattern} in ${short(path)}`)
    }
    case 'ApplyPatchAction':
      return patch(action as Known<'ApplyPatchAction'>)
    case 'MCPToolAction':
      return bare(JSON.stringify((action as Known<'MCPToolAction'>).data ?? {}))
    default: {
      const { kind: _kind, ...members } = action
      return bare(JSON.stringify(members))
    }
  }
}

type Known<K extends Action['kind']> = Extract<Action, { kind: K }>

const bare = (title: string): ShownAction => ({ title, body: [] })

function terminal({ command, is_input, reset }: Known<'TerminalAction'>): ShownAction {
  if (reset === true && command === '') return bare('new shell')
  if (is_input === true) return bare(`input: ${command}`)
  if (command === '') return bare('look at what it has printed since')
  const [first, ...rest] = command.trimEnd().split('\n')
  return { title: `$ ${first}`, body: rest.length === 0 ? [] : [{ colour: 'cyan', text: rest.join('\n') }] }
}

function edit(action: Known<'FileEditorAction'>, short: (path: string) => string): ShownAction {
  const path = short(action.path)
  const title = `${action.command} ${path}`
  switch (action.command) {
    case 'create':
      return { title, body: added(action.file_text ?? '') }
    case 'insert':
      return { title: `${title} after line ${action.insert_line ?? 0}`, body: added(action.new_str ?? '') }
    case 'str_replace':
      return { title, body: changed(action.old_str ?? '', action.new_str ?? '') }
    case 'view':
      return bare(action.view_range == null ? title : `${title}, lines ${action.view_range.join(' to ')}`)
    default:
      return bare(title)
  }
}

function patch({ patch: text }: Known<'ApplyPatchAction'>): ShownAction {
  const files = [...text.matchAll(/^\*\*\* (?:Add|Delete|Update) File: *(.*)$/gm)].map(([, path]) => path!.trim())
  return { title: files.join(', '), body: [{ colour: 'cyan', text: text.trimEnd() }] }
}

/** Lines that both texts share at the beginning or end are shown once, one line at each end, for orientation. */
function changed(before: string, after: string): ShownAction['body'] {
  const old = before.split('\n')
  const now = after.split('\n')
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1
  const parts: ShownAction['body'] = [
    { colour: 'dim', text: marked(' ', old.slice(Math.max(0, head - 1), head)) },
    { colour: 'red', text: marked('-', old.slice(head, old.length - tail)) },
    { colour: 'green', text: marked('+', now.slice(head, now.length - tail)) },
    { colour: 'dim', text: marked(' ', tail === 0 ? [] : old.slice(-tail, old.length - tail + 1)) },
  ]
  return parts.filter(({ text }) => text !== '')
}

function added(text: string): ShownAction['body'] {
  return text === '' ? [] : [{ colour: 'green', text: marked('+', text.replace(/\n$/, '').split('\n')) }]
}

function marked(sign: string, lines: readonly string[]): string {
  return lines.map((line) => `${sign} ${line}`).join('\n')
}

const MARKS: Record<string, string> = { todo: '☐', in_progress: '◐', done: '☑' }

function tasks({ command, task_list }: Known<'TaskTrackerAction'>): ShownAction {
  if (command === 'view') return bare('view')
  const text = (task_list ?? []).map(({ title, status }) => `${MARKS[status ?? 'todo'] ?? '☐'} ${title}`).join('\n')
  return { title: 'plan', body: [{ colour: 'dim', text }] }
}
