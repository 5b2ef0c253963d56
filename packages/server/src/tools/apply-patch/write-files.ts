/** Writes the files of a planned patch: all of them or none. */
import { expectInside, readIfThere } from '../file-editor/access.ts'
import type { History } from '../file-editor/history.ts'
import { hashOf } from '../file-editor/notes.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'
import type { Write } from './plan.ts'

/** Milliseconds for the rollback, also after an abort. */
const TAKE_BACK_MS = 10_000

/**
 * Writes new contents first, then removes files. When a step fails, the steps before it are rolled back.
 * @param history the file editor's, so that its undo covers the patch
 * @throws the cause of the failure; Refusal with the files that could not be restored.
 */
export async function writeAll(writes: readonly Write[], history: History, context: ToolContext): Promise<void> {
  const ordered = [...writes.filter(({ after }) => after !== null), ...writes.filter(({ after }) => after === null)]
  const done: { write: Write; past: string }[] = []
  try {
    for (const write of ordered) {
      const past = await history.remember(write.path, context.callId, write.before)
      done.push({ write, past })
      await put(write.path, write.after, write.mode, context)
    }
  } catch (error) {
    const own = { ...context, signal: AbortSignal.timeout(TAKE_BACK_MS) }
    const left = await takeBack(done.toReversed(), history, own)
    if (left.length === 0) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Refusal(`${reason}. These files could not be brought back to what they were: ${left.join(', ')}`)
  }
}

/**
 * Compares every file with its contents before and after the patch; a third content means that another writer changed
 * it.
 */
export async function progressOf(
  writes: readonly Write[],
  context: ToolContext,
): Promise<'none' | 'part' | 'all' | 'unclear'> {
  let before = 0
  let after = 0
  for (const write of writes) {
    const now = hashOf(await readIfThere(write.path, context))
    if (now === hashOf(write.after)) after++
    else if (now === hashOf(write.before)) before++
    else return 'unclear'
  }
  if (before === 0) return 'all'
  return after === 0 ? 'none' : 'part'
}

async function takeBack(
  done: readonly { write: Write; past: string }[],
  history: History,
  context: ToolContext,
): Promise<string[]> {
  const left: string[] = []
  for (const { write, past } of done) {
    try {
      const now = hashOf(await readIfThere(write.path, context))
      if (now !== hashOf(write.before)) await put(write.path, write.before, null, context)
      await history.forget(write.path, past)
    } catch {
      // The caller reports it; the other files must still be restored.
      left.push(write.path)
    }
  }
  return left
}

/** The path is checked again: a folder in it may have been replaced since the patch was planned. */
async function put(path: string, data: Uint8Array | null, mode: number | null, context: ToolContext): Promise<void> {
  const { workspace, signal } = context
  await expectInside(path, workspace, signal)
  if (data === null) return workspace.remove(path, signal)
  await workspace.writeFile(path, data, signal)
  if (mode === null) return
  const { exit_code, stderr } = await workspace.exec({ argv: ['chmod', mode.toString(8), path] }, signal)
  if (exit_code !== 0) throw new Refusal(`The permissions of ${path} could not be set: ${stderr.trim()}`)
}
