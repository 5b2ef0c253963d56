/** Which conversations have checkpoints of their files, and where those are. */
import { resolve } from 'node:path'
import { isInside } from '../../lib/index.ts'
import { checkpointsIn, type CheckpointPlace } from '../../workspace/index.ts'
import { remoteOf, type OwnedConversation } from '../record/record.ts'

export type CheckpointPlaces = {
  /** Parent of the working directories that the server creates. */
  workspacesDir: string
  /** Returns a conversation's own folder, outside its workspace. */
  folderOf: (id: OwnedConversation['id']) => string
}

/**
 * The place of a conversation's checkpoints; null when it has none: on another agent server, for a sub-agent, which works in the
 * directory of its parent, and in a directory that the user named, unless the request asked for it.
 */
export function placeOfFiles(
  { id, epoch, record }: Pick<OwnedConversation, 'id' | 'epoch' | 'record'>,
  { workspacesDir, folderOf }: CheckpointPlaces,
): CheckpointPlace | null {
  if (remoteOf(record.workspace) !== null || record.sub_agent) return null
  const workingDir = resolve(record.workspace.working_dir)
  const isOwn = isInside(workspacesDir, workingDir)
  if (!(record.checkpoints ?? isOwn)) return null
  const gitDir = checkpointsIn(folderOf(id))
  return { conversationId: id, epoch, workingDir, inside: isOwn ? workspacesDir : null, gitDir }
}
