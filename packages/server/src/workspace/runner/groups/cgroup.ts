/** Control groups of the kernel, version 2: finding that of this process, and the files of one group. Linux only. */
import { accessSync, constants, existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Folder of the cgroup of this process, or the reason why its processes cannot be grouped. */
export type FoundCgroup = { path: string } | { reason: string }

/** Files that name the cgroup of this process. */
type CgroupFiles = { mounts: string; own: string }
const OWN: CgroupFiles = { mounts: '/proc/self/mountinfo', own: '/proc/self/cgroup' }

/** Finds the cgroup of this process, and checks that groups can be made below it. Changes nothing. */
export function findCgroup({ mounts, own } = OWN): FoundCgroup {
  if (process.platform !== 'linux') return { reason: 'cgroups exist on Linux only' }
  try {
    const path = ownFolder(readFileSync(mounts, 'utf8'), readFileSync(own, 'utf8'))
    if (path === null) return { reason: 'no cgroup of version 2 is mounted here' }
    accessSync(path, constants.W_OK)
    accessSync(join(path, 'cgroup.procs'), constants.W_OK)
    return { path }
  } catch (error) {
    return { reason: `the cgroup of this process cannot be written (${(error as NodeJS.ErrnoException).code})` }
  }
}

function ownFolder(mounts: string, own: string): string | null {
  const path = /^0::(\/.*)$/m.exec(own)?.[1]
  // A path above the root of the namespace is not visible here.
  if (path === undefined || path.startsWith('/..')) return null
  for (const line of mounts.split('\n')) {
    // Number, parent, device, root, mount point and options; the type of the file system follows a dash.
    const [mounted = '', rest = ''] = line.split(' - ')
    const [, , , root = '', point = ''] = mounted.split(' ').map(unescaped)
    if (!rest.startsWith('cgroup2 ')) continue
    const below = relative(root, path)
    if (below !== '..' && !below.startsWith('../')) return join(point, below)
  }
  return null
}

/** Spaces and other separators stand as octal numbers in the file. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** Moves this process into a group, with all its threads. @throws the system's error. */
export const enterGroup = (group: string): void => writeFileSync(join(group, 'cgroup.procs'), '0')

/** Lets the groups below one have limits, as far as the kernel permits it there. */
export function enableLimits(group: string): void {
  for (const controller of ['memory', 'pids']) {
    try {
      writeFileSync(join(group, 'cgroup.subtree_control'), `+${controller}`)
    } catch {
      // Not available here, or the group has processes of its own.
    }
  }
}

/** Sets a limit of a group; false when it cannot have one. */
export function setLimit(group: string, name: 'memory.max' | 'pids.max', value: number): boolean {
  try {
    accessSync(join(group, name), constants.W_OK)
    writeFileSync(join(group, name), String(value))
    return true
  } catch {
    return false
  }
}

/** Living processes of a group and of those below it. */
export function membersOf(group: string): Set<number> {
  const found = new Set<number>()
  try {
    for (const line of readFileSync(join(group, 'cgroup.procs'), 'latin1').split('\n'))
      // A process of another pid namespace has the number 0.
      if (Number(line) > 0) found.add(Number(line))
    for (const below of groupsIn(group)) for (const pid of membersOf(below)) found.add(pid)
  } catch (error) {
    if (!isGone(error)) throw error
  }
  return found
}

const groupsIn = (group: string): string[] =>
  readdirSync(group, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(group, entry.name)] : []))

/**
 * Sends SIGKILL to every process of a group and of those below it, also to those that are started meanwhile. Before Linux 5.14,
 * the group is stopped, so that none is started while the caller kills its members.
 */
export function killGroup(group: string): void {
  try {
    if (existsSync(join(group, 'cgroup.kill'))) writeFileSync(join(group, 'cgroup.kill'), '1')
    else writeFileSync(join(group, 'cgroup.freeze'), '1')
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Removes a group with those below it. Returns false when it has a process. */
export function removeGroup(group: string): boolean {
  try {
    for (const below of groupsIn(group)) removeGroup(below)
    rmdirSync(group)
    return true
  } catch (error) {
    return isGone(error)
  }
}

/** ENODEV: the group was removed while its file was open. */
const isGone = (error: unknown): boolean => ['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')
