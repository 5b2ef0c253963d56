/**
 * Notes of planned patches, durable before the first file changes, so that a killed server leaves no half-applied patch.
 *
 * Invariants
 *   P1. A note is durable before any of its files changes; without a note no file was changed.
 *   P2. A note contains everything to be written: another process completes the patch of a dead one in the same way.
 */
import { join } from 'node:path'
import { keepNote, notesOf } from '../call-notes.ts'
import { readOldNote, removeOldNote } from '../old-notes.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'
import type { Change, Plan, Write } from './plan.ts'
import { progressOf } from './write-files.ts'

type Stored = {
  writes: { path: string; before: string | null; after: string | null; mode: number | null }[]
  changes: Record<string, Change>
  fuzz: number
}

/** Stores the plan of a call (P1). @throws Refusal when a file was changed while the store refused the note */
export async function writePlan({ writes, changes, fuzz }: Plan, context: ToolContext): Promise<void> {
  const stored: Stored = { writes: writes.map(packed), changes, fuzz }
  if ((await keepNote('apply_patch', stored, context)) === 'fresh') return
  if ((await progressOf(writes, context)) === 'none') return
  throw new Refusal('A file of the patch was changed by someone else before the patch began. Nothing was changed.')
}

/** Returns the plan of a call; null when the call wrote nothing. */
export async function readPlan(context: ToolContext): Promise<Plan | null> {
  const text =
    (await notesOf(context).read('apply_patch', context.callId)) ??
    (await readOldNote(oldFolder(context), context.callId))
  if (text === null) return null
  const { writes, changes, fuzz } = JSON.parse(text) as Stored
  return { writes: writes.map(unpacked), changes, fuzz }
}

/** A patch that was rolled back counts as never applied. */
export async function forgetPlan(context: ToolContext): Promise<void> {
  await notesOf(context).remove('apply_patch', context.callId)
  await removeOldNote(oldFolder(context), context.callId)
}

const oldFolder = ({ dataDir }: ToolContext): string => join(dataDir, 'apply_patch')

const packed = ({ path, before, after, mode }: Write) => ({ path, before: base64(before), after: base64(after), mode })
const unpacked = ({ path, before, after, mode }: Stored['writes'][number]): Write => ({
  path,
  before: bytes(before),
  after: bytes(after),
  mode,
})
const base64 = (data: Uint8Array | null): string | null => (data === null ? null : Buffer.from(data).toString('base64'))
const bytes = (text: string | null): Uint8Array | null => (text === null ? null : Buffer.from(text, 'base64'))
