/** Plans the changes of a patch: every file is checked before any is written. */
import { basename, dirname, isAbsolute, join } from 'node:path'
import { decoded, expectFits, expectInside, readWithin } from '../file-editor/access.ts'
import { Refusal } from '../refusal.ts'
import { encode, printable } from '../file-editor/text.ts'
import type { ToolContext } from '../tool.ts'
import { applyHunks } from './apply.ts'
import type { Section } from './parse.ts'

/** Content of one path before and after; null: no file. */
export type Write = {
  path: string
  before: Uint8Array | null
  after: Uint8Array | null
  /** Permission bits for a file at a new path; null: the default. */
  mode: number | null
}

export type Change = {
  type: 'add' | 'delete' | 'update'
  old_content: string | null
  new_content: string | null
  move_path: string | null
}

export type Plan = { writes: Write[]; changes: Record<string, Change>; fuzz: number }

/**
 * Largest content in characters that an observation carries for clients to show a difference; larger ones are left out.
 */
const MAX_CONTENT_CHARS = 1024 * 1024

/** Returns the plan of a patch. @throws Refusal when any part of it cannot be done; nothing is written then. */
export async function planPatch(sections: readonly Section[], context: ToolContext): Promise<Plan> {
  const plan: Plan = { writes: [], changes: {}, fuzz: 0 }
  const seen = new Map<string, Named>()
  for (const section of sections) {
    const isUpdate = section.kind === 'update' && section.moveTo === null
    const { path, name } = await place(section.path, context, seen, isUpdate)
    if (section.kind === 'add') await planAddition(section, path, context, plan)
    else if (section.kind === 'delete') await planDeletion(section, path, context, plan)
    else {
      const moveTo = section.moveTo === null ? null : (await place(movable(section.moveTo), context, seen, false)).path
      await planUpdate({ ...section, path: name }, { path, moveTo }, context, plan)
    }
  }
  return plan
}

/** A file that a section named, and whether another section may update it. */
type Named = { path: string; name: string; isUpdate: boolean }

/**
 * Returns the file that a section names, under the name that the patch gave it first. Two sections must not name the same file, however it is spelled, unless both update it.
 */
async function place(
  name: string,
  { workspace, signal }: ToolContext,
  seen: Map<string, Named>,
  isUpdate: boolean,
): Promise<Named> {
  if (name.includes('\0')) throw new Refusal('A path cannot hold the character NUL. Nothing was changed.')
  const path = workspace.resolve(name)
  await expectInside(path, workspace, signal)
  const real = (await workspace.realPath?.(path, signal)) ?? path
  const other = seen.get(real)
  if (other !== undefined && isUpdate && other.isUpdate && other.path === path) return other
  if (other === undefined) {
    const named = { path, name, isUpdate }
    seen.set(real, named)
    return named
  }
  throw new Refusal(
    `Duplicate path: ${other.name} and ${name} are one file; only updates can name a file more than once.`,
  )
}

function movable(path: string): string {
  if (isAbsolute(path) || path.split('/').includes('..'))
    throw new Refusal(`Invalid move path ${path}: it must be relative to the working directory, without "..".`)
  return path
}

type Of<K extends Section['kind']> = Extract<Section, { kind: K }>

async function planAddition({ path: name, lines }: Of<'add'>, path: string, context: ToolContext, plan: Plan) {
  await expectAbsent(name, path, context)
  const text = lines.map((line) => `${line}\n`).join('')
  plan.writes.push({ path, before: null, after: encode(text, 'utf-8'), mode: null })
  plan.changes[name] = change('add', null, text)
}

async function planDeletion({ path: name }: Of<'delete'>, path: string, context: ToolContext, plan: Plan) {
  const { before } = await readFile(name, path, context)
  await expectNoLink(name, path, context)
  plan.writes.push({ path, before, after: null, mode: null })
  plan.changes[name] = change('delete', Buffer.from(before).toString('utf8'), null)
}

async function planUpdate(
  { path: name, moveTo: newName, hunks }: Of<'update'>,
  { path, moveTo }: { path: string; moveTo: string | null },
  context: ToolContext,
  plan: Plan,
): Promise<void> {
  const earlier = plan.writes.find((write) => write.path === path)
  if (earlier?.before != null && earlier.after !== null)
    return updateAgain(name, hunks, { ...earlier, before: earlier.before, after: earlier.after }, plan)
  const { before, mode } = await readFile(name, path, context)
  const old = hunks.length === 0 ? null : decoded(name, before)
  const { text, fuzz } = old === null ? { text: null, fuzz: 0 } : applyHunks(name, old.text, hunks)
  const after = old === null || text === null ? before : encode(text, old.encoding)
  expectFits(name, after.byteLength)
  plan.fuzz += fuzz
  plan.changes[name] = change('update', old?.text ?? null, text, newName)
  if (moveTo === null) return void plan.writes.push({ path, before, after, mode: null })
  await expectAbsent(newName!, moveTo, context)
  await expectNoLink(name, path, context)
  plan.writes.push({ path: moveTo, before: null, after, mode }, { path, before, after: null, mode: null })
}

/** Applies the hunks of another section to the text that the earlier ones leave. */
function updateAgain(
  name: string,
  hunks: Of<'update'>['hunks'],
  { path, before, after: current }: { path: string; before: Uint8Array; after: Uint8Array },
  plan: Plan,
): void {
  const old = decoded(name, current)
  const { text, fuzz } = applyHunks(name, old.text, hunks)
  const after = encode(text, old.encoding)
  expectFits(name, after.byteLength)
  plan.fuzz += fuzz
  plan.writes = plan.writes.map((write) => (write.path === path ? { ...write, after } : write))
  plan.changes[name] = change('update', decoded(name, before).text, text)
}

async function readFile(
  name: string,
  path: string,
  context: ToolContext,
): Promise<{ before: Uint8Array; mode: number }> {
  const stat = await context.workspace.stat(path, context.signal)
  if (stat === null) throw new Refusal(`Missing file: ${name} does not exist. Nothing was changed.`)
  if (stat.kind !== 'file') throw new Refusal(`${name} is not a file. Nothing was changed.`)
  return { before: await readWithin(path, stat, context), mode: stat.mode & 0o777 }
}

async function expectAbsent(name: string, path: string, { workspace, signal }: ToolContext): Promise<void> {
  if ((await workspace.stat(path, signal)) !== null)
    throw new Refusal(`${name} exists already; a patch overwrites no file. Update or delete it instead.`)
}

/** Deleting or moving a symlink would leave its target, which is hardly intended. */
async function expectNoLink(name: string, path: string, { workspace, signal }: ToolContext): Promise<void> {
  const [real, parent] = [await workspace.realPath?.(path, signal), await workspace.realPath?.(dirname(path), signal)]
  if (real != null && parent != null && real !== join(parent, basename(path)))
    throw new Refusal(`${name} is a link; use the terminal to move or delete it. Nothing was changed.`)
}

function change(
  type: Change['type'],
  before: string | null,
  after: string | null,
  moveTo: string | null = null,
): Change {
  const isSmall = Math.max(before?.length ?? 0, after?.length ?? 0) <= MAX_CONTENT_CHARS
  const shown = (text: string | null): string | null => (text === null || !isSmall ? null : printable(text))
  return { type, old_content: shown(before), new_content: shown(after), move_path: moveTo }
}
