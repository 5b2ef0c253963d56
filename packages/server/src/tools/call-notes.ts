import type { CallNotes } from '../workspace/index.ts'
import type { ToolContext } from './tool.ts'

/** Milliseconds for which files count as unchanged after they were read. */
const FRESH_MS = 1_000

/** The notes of a tool that changes files. @throws Error for an agent without notes, which is a bug of its caller */
export function notesOf({ services }: Pick<ToolContext, 'services'>): CallNotes {
  if (services?.notes === undefined) throw new Error('a tool that changes files was called without notes')
  return services.notes
}

/**
 * Stores a note of a call, and waits while the store refuses it. `late`: it waited for so long that the files may have been
 * changed since they were read.
 */
export async function keepNote(
  kind: 'file_editor' | 'apply_patch',
  note: object,
  context: ToolContext,
): Promise<'fresh' | 'late'> {
  const begun = performance.now()
  await notesOf(context).write(kind, context.callId, JSON.stringify(note), context.signal)
  return performance.now() - begun > FRESH_MS ? 'late' : 'fresh'
}
