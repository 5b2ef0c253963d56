/** The parts of this machine that a conversation's sandbox shows and hides. */
import { createHash } from 'node:crypto'
import { mkdirSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isInside } from '../../../lib/index.ts'
import { homesOfAccount } from '../../roots/host-places.ts'
import type { BoxFolders, View } from './mounts.ts'

/** Folders that the sandboxed processes of a conversation share; below the runner's folder, which is hidden from them. */
function boxFolders(runnerHome: string, conversation: string): BoxFolders {
  const box = join(runnerHome, 'boxes', createHash('sha256').update(conversation).digest('hex').slice(0, 16))
  return { home: join(box, 'home'), tmp: join(box, 'tmp'), kept: join(box, 'kept') }
}

function makeBoxFolders(folders: BoxFolders): BoxFolders {
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folders
}

/** Removes the files that the conversation's processes left outside its workspace. */
export async function removeBox(runnerHome: string, conversation: string): Promise<void> {
  await rm(dirname(boxFolders(runnerHome, conversation).home), { recursive: true, force: true })
}

/** Real paths of the homes of this account; `/` is the home of accounts without one. */
export const realHomes = (): string[] =>
  homesOfAccount().flatMap((home) => {
    const real = realOf(home)
    return real === null || real === '/' ? [] : [real]
  })

/** Real paths that are hidden from every conversation: the data directory and the user's home. */
function privatePlaces(runnerHome: string): string[] {
  const dataDir = realOf(dirname(runnerHome))
  return [...(dataDir === null || dataDir === '/' ? [] : [dataDir]), ...realHomes()]
}

/**
 * The view of one conversation. Creates its folders.
 * @param others real paths of workspaces; those above or below this one are not hidden, because they share files with it
 */
export function viewOf(runnerHome: string, conversation: string, workspace: string, others: Iterable<string>): View {
  const isForeign = (path: string) => !isInside(path, workspace) && !isInside(workspace, path) && realOf(path) === path
  const hidden = [...privatePlaces(runnerHome), ...[...new Set(others)].filter(isForeign)]
  return { workspace, hidden, folders: makeBoxFolders(boxFolders(runnerHome, conversation)) }
}

export function realOf(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    // Missing, or not readable by this account.
    return null
  }
}
