/**
 * The parts of this machine that no request of any user may name as a directory. Pure; the runner applies the same rules to
 * the folders that it shows in a sandbox. Source: docs/security.md, Workspace roots.
 */
import { homedir, userInfo } from 'node:os'
import { join, sep } from 'node:path'
import { isInside, relativeInside } from '../../lib/index.ts'
import { CREDENTIALS } from './credentials.ts'

/** Real paths. `homes`: those of the account that runs the server. */
export type HostPlaces = { dataDir: string; homes: readonly string[] }

/** Why a directory is refused. `above_…`: it contains the place. `home`: it is or contains a home. */
export type RefusedPlace = 'data' | 'above_data' | 'home' | 'credentials' | 'above_credentials' | 'process'

/** A folder of the data directory that belongs to one conversation, or to one user. */
export type OwnedFolder = { of: 'conversation' | 'user'; name: string }

const OWNED: Readonly<Record<string, OwnedFolder['of']>> = {
  workspaces: 'conversation',
  worktrees: 'conversation',
  users: 'user',
}

/** Homes of other accounts, by the folders that operating systems put them in. */
const OTHER_HOMES = /^(?:\/root|\/(?:home|Users)\/[^/]+)(?=\/|$)/

/** Directories of processes: their environments, memories and open files. */
const PROCESSES = /^\/proc(?:\/\d+(?:\/|$)|$)/

/** Homes of the account of this process. */
export function homesOfAccount(): string[] {
  const homes = [homedir()]
  try {
    homes.push(userInfo().homedir)
  } catch {
    // In a container the user id may have no name, and then no home either.
  }
  return [...new Set(homes)]
}

/** The folder of a conversation or of a user that is `real` or contains it; null: none. */
export function ownedFolder({ dataDir }: Pick<HostPlaces, 'dataDir'>, real: string): OwnedFolder | null {
  const [folder = '', name] = (relativeInside(dataDir, real) ?? '').split(sep)
  const of = Object.hasOwn(OWNED, folder) ? OWNED[folder] : undefined
  // Folders that begin with a dot are those of the server itself.
  return of === undefined || name === undefined || name.startsWith('.') ? null : { of, name }
}

/** Why a directory is refused; null: it is not. A folder that belongs to a conversation or to a user is part of the data directory. */
export function refusedPlace({ dataDir, homes }: HostPlaces, real: string): RefusedPlace | null {
  if (isInside(dataDir, real)) return 'data'
  if (isInside(real, dataDir)) return 'above_data'
  if (homes.some((home) => isInside(real, home))) return 'home'
  if (PROCESSES.test(real)) return 'process'
  const other = OTHER_HOMES.exec(real)?.[0]
  const credentials = [...homes, ...(other === undefined ? [] : [other])].flatMap((home) =>
    CREDENTIALS.map((name) => join(home, name)),
  )
  if (credentials.some((path) => isInside(path, real))) return 'credentials'
  return real !== other && credentials.some((path) => isInside(real, path)) ? 'above_credentials' : null
}
