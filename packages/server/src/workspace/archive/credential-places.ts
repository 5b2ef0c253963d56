/**
 * Files of a workspace in which git, or a program for the network, keeps credentials. They are never part of an archive, nor shown to a
 * browser: an address in the configuration of a clone may contain a token. Source: docs/agent-server.md, Archives.
 */
import { constants } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** Bytes of a file whose content decides; a longer one counts as one with credentials. */
const MAX_BYTES = 1024 * 1024

const ANYWHERE = /^(?:\.git-credentials|\.netrc|_netrc)$/
/** Written by git beside each other in a git directory: configuration, its lock and its copies, and the addresses of the last fetch. */
const IN_GIT = /^(?:config|credential|\.git-credentials|FETCH_HEAD)/i
/** Reflogs, and addresses of remotes in the form of old versions. */
const GIT_FOLDERS: ReadonlySet<string> = new Set(['logs', 'remotes', 'branches', 'svn'])
/** Folders of a git directory in which any name may occur. */
const GIT_CONTENT: ReadonlySet<string> = new Set(['objects', 'refs'])
/** Files that belong to a project and rarely contain credentials. */
const BY_CONTENT = /^\.git(?:modules|config)$/

/** `git`: in a git directory. `content`: in a part of one whose names are free. */
export type Territory = 'work' | 'git' | 'content'

/** The territory of the entries of a directory. `names`: its entries. */
export function territoryOf(above: Territory, name: string, names: ReadonlySet<string>): Territory {
  if (name === '.git' || (names.has('HEAD') && names.has('objects') && names.has('refs'))) return 'git'
  return above === 'git' && GIT_CONTENT.has(name) ? 'content' : above
}

/** True for an entry that is left out because of its name. */
export function isCredentialName(territory: Territory, name: string, isDirectory: boolean): boolean {
  if (territory === 'content') return false
  if (isDirectory) return territory === 'git' && GIT_FOLDERS.has(name)
  return ANYWHERE.test(name) || (territory === 'git' && IN_GIT.test(name))
}

/** The territory of the entries of a directory, by the names on its path; null for one that is left out itself. */
export function territoryAt(directory: readonly string[]): Territory | null {
  let territory: Territory = 'work'
  for (const name of directory) {
    if (isCredentialName(territory, name, true)) return null
    territory = territoryOf(territory, name, new Set())
  }
  return territory
}

/** True for the path of a file that is left out because of the names in it. */
export function isCredentialPath(path: readonly string[]): boolean {
  const territory = territoryAt(path.slice(0, -1))
  return territory === null || isCredentialName(territory, path.at(-1) ?? '', false)
}

/** True for a file that is left out because of its name, the directory that it is in, or its content. */
export async function isCredentialFile(root: string, path: string): Promise<boolean> {
  const names = path.split('/')
  if (isCredentialPath(names)) return true
  const name = names.at(-1) ?? ''
  const file = join(root, path)
  if (isJudgedByContent(name)) return (await lstat(file).catch(() => null)) !== null && holdsCredentials(name, file)
  for (let depth = names.length - 1; depth > 0; depth--) {
    const below = ['.git', ...names.slice(depth)]
    // The names are free elsewhere, so a directory without the name of a git directory is looked at only for these.
    if (isCredentialPath(below) && (await isGitDirectory(join(root, ...names.slice(0, depth))))) return true
  }
  return false
}

async function isGitDirectory(directory: string): Promise<boolean> {
  return territoryOf('work', '', new Set(await readdir(directory).catch(() => []))) === 'git'
}

/** True for the name, or the path, of a file that only its content tells to contain credentials. */
export const isJudgedByContent = (path: string): boolean => BY_CONTENT.test(basename(path))

/** True for a file that is left out because of its content. A file that cannot be read counts, too. */
export async function holdsCredentials(name: string, file: string | Buffer): Promise<boolean> {
  if (!isJudgedByContent(name)) return false
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = await handle.stat()
    if (!stats.isFile() || stats.size > MAX_BYTES) return true
    return isCredentialText(await handle.readFile('latin1'))
  } catch {
    return true
  }
}

/** True for a configuration with a user in a web address, a password in any address, or a header. */
export const isCredentialText = (text: string): boolean =>
  /\bhttps?:\/\/[^/\s"@]+@/i.test(text) || /:\/\/[^/\s"@:]*:[^/\s"@]+@/.test(text) || /extraheader/i.test(text)
