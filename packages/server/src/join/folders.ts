/** The conversations' own folders: lists of tasks, whole outputs, recordings. Source: design.md 3, The file of a conversation. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/index.ts'

/**
 * Where they are. Conversations that live in memory alone have theirs in a place of this process, gone when it is disposed of; what
 * a killed process left of such a place goes now.
 */
export async function openFolders({
  dataDir,
  ephemeral,
}: Pick<Config, 'dataDir' | 'ephemeral'>): Promise<AsyncDisposable & { path: string }> {
  if (!ephemeral) return { path: join(dataDir, 'conversations'), [Symbol.asyncDispose]: () => Promise.resolve() }
  const places = join(dataDir, 'ephemeral')
  await rm(places, { recursive: true, force: true })
  await mkdir(places, { mode: 0o700 })
  const path = await mkdtemp(join(places, 'conversations-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
