/**
 * Decides which directories of this machine the requests of a user may reach. Every path of a request passes here, whatever part of
 * the server then uses it.
 *
 * Invariants
 *   R1. The real path decides, not its spelling and not a link.
 *   R2. The data directory is closed, except the user's own folder and the workspaces of the user's own conversations; so are what
 *       contains it, homes themselves, and folders for credentials.
 *   R3. With an account for commands, what that account cannot reach or read is closed.
 *   R4. A refusal is the same whether something exists at the path or not, and does not name the target of a link.
 *
 * Source: docs/security.md, Workspace roots.
 */
import { createHash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { lstat, mkdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { parseConversationId, ParleyError, type ConversationId, type Place } from '@parley/protocol'
import { isInside } from '../../lib/index.ts'
import { canReach, canRead, type Account } from '../account/account.ts'
import { give } from '../account/folders.ts'
import { asParleyError } from '../file-errors.ts'
import { ownedFolder, refusedPlace, type HostPlaces } from './host-places.ts'
import { resolveLinks } from './real-path.ts'
import { RefusedPath, type Closed } from './refused-path.ts'

/** What one user's requests may reach. */
export interface Roots {
  /** The account that commands run as; null: that of this process. */
  readonly account: Account | null
  /** The directories that are open to the user besides workspaces; null: all that are not refused. */
  readonly opened: readonly string[] | null
  /**
   * The real path of a directory, which need not exist.
   * @param from start of a relative path; default: the working directory of the server
   * @throws RefusedPath; ParleyError of the file system.
   */
  directory(path: string, at: Place, from?: string): Promise<string>
  /** The real path of the working directory in the record of a conversation. @throws ParleyError `forbidden`; that of the file system. */
  recorded(path: string): Promise<string>
  /** The real path of a file, which need not exist: its directory decides. @throws RefusedPath; ParleyError of the file system. */
  file(path: string, at: Place): Promise<string>
  /**
   * The real path of a directory whose subdirectories may be listed by name, to choose one of them: also a home, and what contains one.
   * @throws RefusedPath; ParleyError of the file system.
   */
  browsed(path: string, at: Place): Promise<string>
  /** True for a directory that `directory` accepts. `real`: a real path. */
  reaches(real: string): Promise<boolean>
  /** True for a directory that `browsed` accepts. `real`: a real path. */
  isShown(real: string): Promise<boolean>
  /**
   * The real path of a file that is read or written for a program without a sandbox: also directly in a home. Closed are the data
   * directory, folders for credentials and those of processes; where the operator lists directories, all others, too.
   * @param besides open folders of the data directory, relative to it
   * @param isLink does not follow a symlink in the last component
   * @throws RefusedPath; ParleyError of the file system.
   */
  unsandboxed(path: string, besides: readonly string[], how?: { isLink?: boolean }): Promise<string>
  /** The user's own folder in the data directory. Creates it. */
  ownFolder(): Promise<string>
}

/** What reads and writes files needs. */
export type FileRoots = Pick<Roots, 'account' | 'file'>

export type RootsOf = (user: string) => Roots

/** The directories that the operator opens, besides each user's own folder. */
export type ListedRoots = { everyone: readonly string[]; users: Readonly<Record<string, readonly string[]>> }

export type RootsDeps = {
  dataDir: string
  /** Homes of the account that runs the server. */
  homes: readonly string[]
  /** Null: all that are not refused. */
  listed: ListedRoots | null
  /** The user whose conversation has, or had, this id; null: no user's. */
  ownerOf: (id: ConversationId) => Promise<string | null>
  /** The account that commands run as; null: that of this process. */
  account: Account | null
}

/** Opens the decisions for a data directory. Links in the configured paths are followed once. */
export function openRoots({ dataDir, homes, listed, ...deps }: RootsDeps): RootsOf {
  const places = placesOf(dataDir, homes)
  // A failure is that of every decision.
  places.catch(() => undefined)
  const known = new Map<string, Roots>()
  return (user) => {
    const roots = known.get(user) ?? new UserRoots({ user, places, listed: listedFor(listed, user), dataDir, ...deps })
    known.set(user, roots)
    return roots
  }
}

const listedFor = (listed: ListedRoots | null, user: string): readonly string[] | null =>
  listed === null ? null : [...listed.everyone, ...(Object.hasOwn(listed.users, user) ? listed.users[user]! : [])]

async function placesOf(dataDir: string, homes: readonly string[]): Promise<HostPlaces> {
  return { dataDir: await resolveLinks(dataDir), homes: await Promise.all(homes.map(resolveLinks)) }
}

type UserRootsDeps = {
  user: string
  places: Promise<HostPlaces>
  listed: readonly string[] | null
  dataDir: string
} & Pick<RootsDeps, 'ownerOf' | 'account'>

class UserRoots implements Roots {
  readonly opened: readonly string[] | null
  readonly account: Account | null
  readonly #user: string
  readonly #places: Promise<HostPlaces>
  readonly #listed: Promise<readonly string[]> | null
  readonly #ownerOf: RootsDeps['ownerOf']

  constructor({ user, places, listed, ownerOf, dataDir, account }: UserRootsDeps) {
    this.account = account
    this.#user = user
    this.#places = places
    this.#listed = listed === null ? null : Promise.all(listed.map(resolveLinks))
    this.#ownerOf = ownerOf
    this.opened = listed === null ? null : [ownFolderIn(dataDir, user), ...listed]
  }

  async directory(path: string, at: Place, from = '.'): Promise<string> {
    const real = await asParleyError(path, () => resolveLinks(resolve(from, path)))
    await this.#expect(real, path, at)
    return real
  }

  async recorded(path: string): Promise<string> {
    try {
      return await this.directory(path, ['working_dir'])
    } catch (error) {
      // The request names a conversation and no path.
      throw error instanceof RefusedPath ? new ParleyError('forbidden', error.message) : error
    }
  }

  async file(path: string, at: Place): Promise<string> {
    const real = await asParleyError(path, () => resolveLinks(path))
    const found = await lstat(real).catch(() => null)
    const directory = found?.isDirectory() === true ? real : dirname(real)
    // Files beside the directories of processes describe the machine.
    if (found?.isFile() !== true || directory !== '/proc') await this.#expect(directory, path, at)
    return real
  }

  async browsed(path: string, at: Place): Promise<string> {
    const real = await asParleyError(path, () => resolveLinks(path))
    if (!(await this.isShown(real))) await this.#expect(real, path, at)
    return real
  }

  async reaches(real: string): Promise<boolean> {
    return (await this.#refusal(real)) === null
  }

  async isShown(real: string): Promise<boolean> {
    const why = await this.#refusal(real)
    return why === null || (this.#listed === null && isNotSecret(why))
  }

  async unsandboxed(
    path: string,
    besides: readonly string[],
    { isLink = false }: { isLink?: boolean } = {},
  ): Promise<string> {
    const followed = await asParleyError(path, () => resolveLinks(isLink ? dirname(path) : path))
    const real = isLink ? join(followed, basename(path)) : followed
    const { dataDir } = await this.#places
    if (besides.some((folder) => isInside(join(dataDir, folder), real))) return real
    const why = await this.#refusal(real)
    if (why === null || (this.#listed === null && isNotSecret(why))) return real
    throw new RefusedPath(path, ['path'], why, this.opened)
  }

  async ownFolder(): Promise<string> {
    const folder = ownFolderIn((await this.#places).dataDir, this.#user)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    give(folder, this.account)
    return folder
  }

  async #expect(real: string, path: string, at: Place): Promise<void> {
    const why = await this.#refusal(real)
    if (why !== null) throw new RefusedPath(path, at, why, this.opened)
  }

  async #refusal(real: string): Promise<Closed | null> {
    const why = await this.#closed(real)
    const isOpen = why === null || isNotSecret(why)
    return isOpen && this.account !== null && !isUsable(this.account, real) ? 'account' : why
  }

  async #closed(real: string): Promise<Closed | null> {
    const why = refusedPlace(await this.#places, real)
    if (why === 'data') return (await this.#owns(real)) ? null : 'data'
    if (why !== null || this.#listed === null) return why
    return (await this.#listed).some((root) => isInside(root, real)) ? null : 'unlisted'
  }

  async #owns(real: string): Promise<boolean> {
    const folder = ownedFolder(await this.#places, real)
    if (folder === null) return false
    if (folder.of === 'user') return folder.name === folderName(this.#user)
    const id = parseConversationId(folder.name)
    return id === folder.name && (await this.#ownerOf(id)) === this.#user
  }
}

/** True for a directory that the account can enter, a file that it can read, and what does not exist where it can enter. */
function isUsable(account: Account, real: string): boolean {
  const isFile = lstatSync(real, { throwIfNoEntry: false })?.isFile() === true
  return isFile ? canRead(account, real) : canReach(account, real)
}

/** True for places that are refused only because of what they contain. */
const isNotSecret = (why: Closed): boolean => why === 'home' || why.startsWith('above_')

/** The folder of a user in the data directory, which need not exist. */
export const ownFolderIn = (dataDir: string, user: string): string => join(dataDir, 'users', folderName(user))

/** Name of a user's folder: the user's name, or a hash of one that is no plain name on every file system. */
function folderName(user: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(user)) return user
  return `~${createHash('sha256').update(user).digest('hex').slice(0, 40)}`
}
