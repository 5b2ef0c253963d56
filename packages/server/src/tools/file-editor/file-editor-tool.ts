/**
 * Views and edits text files: unchanged bytes outside the edit, undo, and notes that survive a crash of the server.
 * Source: agent-core.md 8.3.
 */
import type { FileEditorObservation, ImageContent, TextContent } from '@parley/protocol'
import { FileEditorAction, ParleyError, textContent } from '@parley/protocol'
import { isAbsolute } from 'node:path'
import { defineTool } from '../define.ts'
import { unlessUnknown, type Tool, type ToolContext } from '../tool.ts'
import { checkPath, decoded, existing, expectFits, readIfThere, readWithin } from './access.ts'
import { DESCRIPTION, PARAMETERS } from './description.ts'
import { insertLines, replaceOnce, snippet, type Edited } from './edits.ts'
import { History } from './history.ts'
import { showRestored } from './restored.ts'
import { hashOf, readNote, writeNote } from './notes.ts'
import { clipLines, showDirectory, showImage, showText } from './view.ts'
import { Refusal } from '../refusal.ts'
import { syntaxLines } from '../syntax/syntax-check.ts'
import { decode, encode, printable, type Decoded } from './text.ts'

/**
 * Largest content in characters that an observation carries for clients to show a difference; larger ones are left out.
 */
const MAX_CONTENT_CHARS = 1024 * 1024

export type FileEditorParams = {
  /** Refuse paths outside the working directory, also through symlinks (F28). */
  confine?: boolean
}

type Change = Pick<FileEditorObservation, 'prev_exist' | 'old_content' | 'new_content'>
type Outcome = { content: (TextContent | ImageContent)[] } & Partial<Change>

/** The `file_editor` tool. */
export function fileEditorTool({ confine = false }: FileEditorParams = {}): Tool {
  return defineTool<FileEditorAction>({
    kind: 'FileEditor',
    name: 'file_editor',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    parse: (args) => FileEditorAction.parse({ ...args, kind: 'FileEditorAction' }),
    resources: (action, workspace) => [`file:${workspace.resolve(action.path)}`],
    async execute(action, context) {
      try {
        if (isAbsolute(action.path)) action = { ...action, path: context.workspace.resolve(action.path) }
        await checkPath(action, confine, context)
        return observation(action, await run(action, context))
      } catch (error) {
        if (context.signal.aborted) throw error
        return { ...observation(action, { content: [textContent(reasonOf(error))] }), is_error: true }
      }
    },
    recover: async (action, context, ledger) => {
      const history = new History(context.dataDir)
      const note = await readNote(context)
      if (note === null) return action.command === 'view' ? { kind: 'execute' } : unlessUnknown(ledger)
      const now = await readIfThere(note.path, context)
      const hash = hashOf(now)
      if (hash === note.after) {
        if (note.undoes !== undefined) await history.forget(note.path, note.undoes)
        const before = note.undoes === undefined ? await history.before(note.path, context.callId) : undefined
        return {
          kind: 'done',
          observation: observation({ ...action, path: note.path }, recovered(action, before, now)),
        }
      }
      return hash === note.before ? unlessUnknown(ledger) : { kind: 'unknown' }
    },
  })
}

function run(action: FileEditorAction, context: ToolContext): Promise<Outcome> {
  switch (action.command) {
    case 'view':
      return view(action, context)
    case 'create':
      return create(action, context)
    case 'str_replace': {
      const oldText = required(action, 'old_str')
      const newText = required(action, 'new_str')
      return edit(action, context, (text) => replaceOnce(text, oldText, newText))
    }
    case 'insert': {
      const line = required(action, 'insert_line')
      const newText = required(action, 'new_str')
      return edit(action, context, (text) => insertLines(text, line, newText))
    }
    case 'undo_edit':
      return undo(action, context)
  }
}

async function view({ path, view_range }: FileEditorAction, context: ToolContext): Promise<Outcome> {
  const stat = await existing(path, context)
  if (stat.kind === 'directory') {
    if (view_range !== null) throw new Refusal('view_range is for files; a directory is shown as a whole.')
    return { content: [textContent(await showDirectory(path, context.workspace, context.signal))] }
  }
  const bytes = await readWithin(path, stat, context)
  const image = await showImage(path, bytes, context)
  if (image !== null) return { content: image }
  return { content: [textContent(showText(path, printable(decoded(path, bytes).text), view_range))] }
}

async function create(action: FileEditorAction, context: ToolContext): Promise<Outcome> {
  const { path } = action
  const text = required(action, 'file_text')
  if ((await context.workspace.stat(path, context.signal)) !== null) {
    throw new Refusal(`${path} exists already; create does not overwrite. Use str_replace or insert to change it.`)
  }
  await write(path, null, encode(text, 'utf-8'), context)
  const faults = await syntaxLines([{ path, before: null, after: text }], context)
  return { content: [textContent(`File created successfully at: ${path}${faults}`)], ...change(null, text) }
}

const READ_AS: Record<NonNullable<Edited['readAs']>, string> = {
  'white space': 'old_str matched these lines only with other white space; new_str got their indentation.',
  numbers: 'The line numbers in old_str and new_str were left out.',
  'line breaks': 'The characters \\n in old_str and new_str were read as line breaks.',
}

async function edit(
  { path }: FileEditorAction,
  context: ToolContext,
  apply: (text: string) => ReturnType<typeof replaceOnce>,
): Promise<Outcome> {
  const bytes = await readWithin(path, await existing(path, context), context)
  const before = decoded(path, bytes)
  const edited = apply(before.text)
  await write(path, bytes, encode(edited.text, before.encoding), context)
  const faults = await syntaxLines([{ path, before: before.text, after: edited.text }], context)
  const shown = clipLines(printable(snippet(edited)))
  const loosely = edited.readAs === undefined ? '' : ` ${READ_AS[edited.readAs]}`
  const message = `${path} has been edited.${loosely} The changed lines and what is around them:\n${shown}\nCheck that this is what you meant; edit again if it is not.${faults}`
  return { content: [textContent(message)], ...change(before.text, edited.text) }
}

async function undo({ path }: FileEditorAction, context: ToolContext): Promise<Outcome> {
  const bytes = await readWithin(path, await existing(path, context), context)
  const history = new History(context.dataDir)
  const past = await history.newest(path)
  if (past === null) throw new Refusal(`There is no edit history for ${path}.`)
  await writeNote({ path, before: hashOf(bytes), after: hashOf(past.bytes), undoes: past.name }, context)
  if (past.bytes === null) await context.workspace.remove(path, context.signal)
  else await context.workspace.writeFile(path, past.bytes, context.signal)
  await history.forget(path, past.name)
  return undone(path, decode(bytes), past.bytes)
}

function undone(path: string, before: Decoded | null, restored: Uint8Array | null): Outcome {
  if (restored === null) {
    const message = `The creation of ${path} has been undone: the file is gone.`
    return { content: [textContent(message)], ...change(before?.text ?? null, null), prev_exist: false }
  }
  const text = decode(restored)?.text ?? ''
  const shown = before === null ? '' : showRestored(printable(before.text), printable(text))
  return {
    content: [textContent(`The last edit of ${path} has been undone.${shown}`)],
    ...change(before?.text ?? null, text),
  }
}

/** First the durable note, then the history, then the file: `recover` can distinguish a crash after each of them. */
async function write(path: string, before: Uint8Array | null, after: Uint8Array, context: ToolContext): Promise<void> {
  expectFits(path, after.byteLength)
  await writeNote({ path, before: hashOf(before), after: hashOf(after) }, context)
  const history = new History(context.dataDir)
  const past = await history.remember(path, context.callId, before)
  try {
    await context.workspace.writeFile(path, after, context.signal)
  } catch (error) {
    await history.forget(path, past)
    throw error
  }
}

/** Returns the observation of an edit that took place although the server died before storing it. */
function recovered(action: FileEditorAction, before: Uint8Array | null | undefined, now: Uint8Array | null): Outcome {
  if (action.command === 'undo_edit') return undone(action.path, null, now)
  const text = now === null ? null : (decode(now)?.text ?? null)
  if (action.command === 'create')
    return { content: [textContent(`File created successfully at: ${action.path}`)], ...change(null, text) }
  const old = before == null ? null : (decode(before)?.text ?? null)
  return { content: [textContent(`${action.path} has been edited.`)], ...change(old, text), prev_exist: true }
}

function required<K extends 'file_text' | 'old_str' | 'new_str' | 'insert_line'>(
  action: FileEditorAction,
  name: K,
): NonNullable<FileEditorAction[K]> {
  const value = action[name]
  if (value === null)
    throw new Refusal(`The parameter ${name} is required for the command ${action.command} of file_editor.`)
  return value
}

function change(before: string | null, after: string | null): Change {
  const isSmall = Math.max(before?.length ?? 0, after?.length ?? 0) <= MAX_CONTENT_CHARS
  const shown = (text: string | null): string | null => (text === null || !isSmall ? null : printable(text))
  return { prev_exist: before !== null, old_content: shown(before), new_content: shown(after) }
}

function observation({ command, path }: FileEditorAction, outcome: Outcome): FileEditorObservation {
  return {
    kind: 'FileEditorObservation',
    is_error: false,
    command,
    path,
    prev_exist: true,
    old_content: null,
    new_content: null,
    ...outcome,
  }
}

/**
 * Returns the reason of a failure, for the model. Any error but a refusal or one of the file system is a bug and is
 * thrown again.
 */
function reasonOf(error: unknown): string {
  if (error instanceof Refusal || error instanceof ParleyError) return error.message
  if (error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string') return error.message
  throw error
}
