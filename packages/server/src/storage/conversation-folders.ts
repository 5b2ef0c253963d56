/** Folders of the conversations: full outputs, undo of file edits, checkpoints. Source: decisions.md, The file of a conversation. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The folder that holds one folder for each conversation. Ephemeral conversations get a folder of this process, which is removed
 * on disposal; folders that a killed process left are removed first.
 */
export async function openConversationFolders({
  dataDir,
  ephemeral,
}: {
  dataDir: string
  /** Conversations live in memory only. */
  ephemeral: boolean
}): Promise<AsyncDisposable & { path: string }> {
  if (!ephemeral) return { path: join(dataDir, 'conversations'), [Symbol.asyncDispose]: () => Promise.resolve() }
  const parent = join(dataDir, 'ephemeral')
  await rm(parent, { recursive: true, force: true })
  await mkdir(parent, { mode: 0o700 })
  const path = await mkdtemp(join(parent, 'conversations-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
