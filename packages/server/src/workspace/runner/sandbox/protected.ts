/**
 * Places in a workspace whose content other programs execute on their own: git's hooks and configuration, tasks of editors, settings of
 * agents and shells. Where they exist, processes cannot change them. Source: docs/security.md, Protected places.
 *
 * Invariant
 *   P1. A place is mounted only if all running processes that can write its directory have the same mount. They then cannot move or
 *       replace it, so no link leads the mount of a later process elsewhere.
 */
import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { isInside } from '../../../lib/index.ts'
import type { Box } from '../ipc/protocol.ts'

/** At the top of a workspace. */
const AT_TOP =
  '.agents .claude .codex .cursor .devcontainer .envrc .gemini .husky .idea .mcp.json .openhands .vscode .windsurf .zed'.split(
    ' ',
  )
/** In the git directory of a repository. */
const IN_GIT = ['hooks', 'config', 'config.worktree']
/** Directories of a workspace that are searched for repositories, besides the workspace itself. */
const MOST_FOLDERS = 500
const MOST_REPOSITORIES = 16

/** `isFixed`: a directory that stays writable and cannot be moved. */
export type ProtectedPlace = { path: string; isFixed: boolean }

/** What of a sandbox decides about its protected places. Real paths. */
type Sides = Pick<Box, 'workspace' | 'writable' | 'kept'>

/** The places that exist in a workspace and in the git directory of its repository, outermost first. Links are none. */
function protectedPlaces({ workspace, writable = [], kept = [] }: Sides): ProtectedPlace[] {
  const places: ProtectedPlace[] = []
  const add = (path: string, isFixed = false): boolean => {
    const found = statOf(path)
    const isPlace = found?.isDirectory() === true || (found?.isFile() === true && !isFixed)
    if (isPlace) places.push({ path, isFixed })
    return isPlace
  }
  for (const name of AT_TOP) add(join(workspace, name))
  const repositories = [workspace, ...foldersOf(workspace)].filter((folder) => isFolder(join(folder, '.git')))
  for (const folder of repositories.slice(0, MOST_REPOSITORIES)) {
    add(join(folder, '.git'), true)
    for (const name of IN_GIT) add(join(folder, '.git', name))
  }
  for (const folder of writable) for (const name of IN_GIT) add(join(folder, name))
  for (const path of kept) add(path, isFolder(path))
  return places
}

/** The protected place that a real path is in; null: none. For a path that does not exist, the same answer as if it did in a place that does. */
export function protectedPlaceOf(workspace: string, real: string): string | null {
  if (!isInside(workspace, real)) return null
  const parts = relative(workspace, real).split(sep)
  if (AT_TOP.includes(parts[0] ?? '')) return existing(join(workspace, parts[0]!))
  const git = parts.lastIndexOf('.git')
  const name = parts[git + 1]
  return git >= 0 && name !== undefined && IN_GIT.includes(name)
    ? existing(join(workspace, ...parts.slice(0, git + 2)))
    : null
}

const existing = (path: string): string | null => (statOf(path) === null ? null : path)
const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true

function foldersOf(workspace: string): string[] {
  try {
    const entries = readdirSync(workspace, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return entries.slice(0, MOST_FOLDERS).map(({ name }) => join(workspace, name))
  } catch {
    return []
  }
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path)
  } catch {
    return null
  }
}

/** The running processes of all workspaces, with the protected places that each of them has mounted. */
export class ProtectedProcesses {
  readonly #running = new Set<{ paths: readonly string[]; mounted: ReadonlySet<string> }>()

  /** The places to mount for a new process, and a function to call at its end. */
  enter(sides: Sides): { places: readonly ProtectedPlace[]; leave: () => void } {
    const own = [sides.workspace, ...(sides.writable ?? [])]
    const isSafe = (place: string) =>
      [...this.#running].every(
        ({ paths, mounted }) => mounted.has(place) || !paths.some((path) => isInside(path, place)),
      )
    const places = protectedPlaces(sides).filter(({ path }) => isSafe(path))
    const process = { paths: own, mounted: new Set([...own, ...places.map(({ path }) => path)]) }
    this.#running.add(process)
    return { places, leave: () => void this.#running.delete(process) }
  }
}
