/** Programs and search paths inside a sandbox. */
import { lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { isInside } from '../../../lib/index.ts'
import { CERTIFICATES } from '../environment.ts'
import { isExecutable } from '../executable.ts'
import { INSIDE, isVisible, sharesTmp, type View } from './mounts.ts'
import { realOf } from './real.ts'
import { isLinkedInHome } from './toolchains.ts'

/** Setting that shows further directories. */
const SETTING = 'sandbox_toolchains'

/** Variables of toolchains whose directories are written, so that those of the account are of no use inside. */
const OWN_FOLDERS = [
  'CARGO_HOME',
  'GOPATH',
  'GOCACHE',
  'GOMODCACHE',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
]

/** Environment in which HOME, TMPDIR and PATH name folders that exist inside. */
export function insideEnvironment(view: View, env: Record<string, string>): Record<string, string> {
  const isOwnHome = env['HOME'] === undefined || env['HOME'] === homedir()
  const inside: Record<string, string> = { ...env, ...(isOwnHome && { HOME: INSIDE.home }) }
  inside['PATH'] = pathInside(view, env['PATH'] ?? '')
  delete inside['TMPDIR']
  for (const name of OWN_FOLDERS) if (isInside(homedir(), env[name] ?? '/')) delete inside[name]
  for (const name of CERTIFICATES) {
    const file = inside[name]
    if (file !== undefined && !isVisible(view, realOf(file) ?? file)) delete inside[name]
  }
  return sharesTmp(view) ? inside : { ...inside, TMPDIR: INSIDE.tmp }
}

/**
 * The search path of the account as it is inside: directories of the home are followed by those of the same name in the home inside, where
 * commands install programs; the Node of the server is the last.
 */
function pathInside(view: View, path: string): string {
  const folders = path.split(delimiter).flatMap((folder) => {
    if (!isAbsolute(folder)) return []
    if (isInside(INSIDE.home, folder)) return [folder]
    const name = isInside(homedir(), folder) ? relative(homedir(), folder) : null
    const own = name === null || isLinkedInHome(name) ? [] : [join(INSIDE.home, name)]
    const shown = shownFolder(view, folder)
    return shown === null ? own : [shown, ...own]
  })
  return [...new Set([...folders, INSIDE.programs])].join(delimiter)
}

/** The name under which a directory of this machine is found inside; null: it is not shown. */
function shownFolder(view: View, folder: string): string | null {
  const isLinked = view.links.some(([path]) => isInside(path, folder))
  const real = realOf(folder)
  if (real === null || !isVisible(view, real)) return null
  return isLinked || isVisible(view, folder) ? folder : real
}

/** A program, named as inside, and its path where it is known; or the reason why it cannot be started. */
type Found = { name: string; path?: string } | { exit_code: 126 | 127; reason: string }

/** Searches for a program as it is visible inside, because bubblewrap reports a missing program only as a failure of its own. */
export function findProgram(view: View, name: string, cwd: string, path: string): Found {
  if (name.includes('/')) {
    const file = realOf(isAbsolute(name) ? name : resolve(cwd, name))
    if (file !== null && file === realOf(process.execPath)) return { name: INSIDE.node }
    if (isInside(INSIDE.home, name)) return { name }
    if (file === null || !isVisible(view, file)) return missing(name, file)
    return startable(name, isAbsolute(name) && shownFolder(view, dirname(name)) !== dirname(name) ? file : name, file)
  }
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder) && shownFolder(view, folder) !== null)
  const found = findInPath(name, folders.join(delimiter), (file) => isVisible(view, realOf(file) ?? file))
  if (found !== null) {
    const path = join(shownFolder(view, dirname(found)) ?? dirname(found), basename(found))
    return { ...startable(name, name, found), path }
  }
  const own = path.split(delimiter).some((folder) => {
    const home = [homedir(), INSIDE.home].find((one) => isInside(one, folder))
    const kept = home === undefined ? null : join(view.folders.home, relative(home, folder), name)
    return kept !== null && lstatSync(kept, { throwIfNoEntry: false }) !== undefined
  })
  if (own || name === 'node') return { name }
  return missing(name, findInPath(name, path))
}

const startable = (given: string, name: string, file: string): Found =>
  isExecutable(file) ? { name } : { exit_code: 126, reason: `${given}: permission denied` }

/** @param outside the file on this machine that has the name; null: none */
function missing(name: string, outside: string | null): Found {
  if (outside === null) return { exit_code: 127, reason: `${name}: command not found` }
  const real = realOf(outside) ?? outside
  const what = real === outside ? outside : `${outside}, which leads to ${real},`
  return {
    exit_code: 127,
    reason: `${name}: command not found in the sandbox; ${what} exists, and the sandbox does not show it; to show its folder, add ${dirname(real)} to the setting ${SETTING}`,
  }
}

/** The first executable file of a name in a search path. */
export function findInPath(name: string, path: string, accept: (file: string) => boolean = () => true): string | null {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name)
    if (isAbsolute(folder) && isExecutable(file) && accept(file)) return file
  }
  return null
}
