/**
 * Groups of processes that the kernel keeps: a process stays in its group when it changes its session, its parent or its environment.
 * One group for each runner, with one below it for each conversation.
 *
 * Invariants
 *   G1. A process is in its group from its birth: the runner enters the group, starts it, and leaves.
 *   G2. The runner is in no group while anything else happens, so it never ends itself with a group.
 *   G3. The path of the runner's group is in its folder before a process is in the group, so that the next runner finds what is left.
 *       If the folder is lost, the name of the group tells to which data directory it belongs.
 * Without a writable cgroup, processes are found by their marks only. Source: docs/operations.md, Processes of a conversation.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { basename, join } from 'node:path'
import type { Limits } from '../ipc/protocol.ts'
import { enableLimits, enterGroup, findCgroup, removeGroup, setLimit, type FoundCgroup } from './cgroup.ts'

/** Share of the machine's memory for a conversation without a setting, so that some is left for the server. */
const SHARE_OF_MEMORY = 0.75

/** The group of one conversation. */
export interface ProcessGroup {
  /** Its folder; null where there are no groups. */
  readonly path: string | null
  /** Calls `start`, which starts a process without waiting, so that the process is in the group. */
  start<T>(start: () => T): T
  /** Limits the processes of the group together. Returns which limits the kernel keeps. */
  limit(limits: Limits): { processes: boolean; memory: boolean }
  /** Removes the group if it has no process. */
  tidy(): void
}

const NO_LIMITS = { processes: false, memory: false }

/** Processes that are not grouped. */
export const NO_GROUP: ProcessGroup = {
  path: null,
  start: (start) => start(),
  limit: () => NO_LIMITS,
  tidy: () => undefined,
}

/** `home`: the runner's folder. `root`: short name of the data directory. */
export type GroupsPlace = { home: string; root: string }

export type ProcessGroupsDeps = GroupsPlace & { log: (text: string) => void }

/** Folder of the files that name the groups of runners. */
const listOf = (home: string): string => join(home, 'groups')
/** How the names of the groups of a data directory begin. */
const prefixOf = (root: string): string => `parley-${root}-`
const nameOf = (conversation: string): string => createHash('sha256').update(conversation).digest('hex').slice(0, 16)

export class ProcessGroups {
  readonly #home: string
  readonly #log: (text: string) => void
  #own = ''
  /** The group of this runner; null where there are no groups. */
  readonly path: string | null

  constructor({ home, root, log }: ProcessGroupsDeps, found: FoundCgroup = findCgroup()) {
    this.#home = home
    this.#log = log
    this.path =
      'path' in found ? this.#open(found.path, `${prefixOf(root)}${process.pid}-${Date.now().toString(36)}`) : null
    if ('reason' in found) log(`processes are found by their marks only: ${found.reason}`)
  }

  /** Makes the group of this runner, and tries whether it can be entered and left. */
  #open(own: string, name: string): string | null {
    const path = join(own, name)
    this.#own = own
    try {
      mkdirSync(listOf(this.#home), { recursive: true, mode: 0o700 })
      writeFileSync(join(listOf(this.#home), name), path, { mode: 0o600 })
      mkdirSync(path)
      enterGroup(path)
      enterGroup(own)
      enableLimits(own)
      enableLimits(path)
      return path
    } catch (error) {
      this.#log(`processes are found by their marks only: ${String(error)}`)
      removeGroup(path)
      return null
    }
  }

  of(conversation: string): ProcessGroup {
    if (this.path === null) return NO_GROUP
    const path = join(this.path, nameOf(conversation))
    return {
      path,
      start: (start) => this.#inside(path, start),
      limit: (limits) => limitGroup(path, limits),
      tidy: () => void removeGroup(path),
    }
  }

  #inside<T>(path: string, start: () => T): T {
    try {
      mkdirSync(path, { recursive: true })
      enterGroup(path)
    } catch (error) {
      this.#log(`process not grouped: ${String(error)}`)
      return start()
    }
    try {
      return start()
    } finally {
      this.#leave()
    }
  }

  #leave(): void {
    try {
      enterGroup(this.#own)
    } catch (error) {
      this.#log(`group not left: ${String(error)}`)
    }
  }

  /** Removes the group of this runner once all its processes have ended. */
  [Symbol.dispose](): void {
    if (this.path !== null) forgetGroup(this.#home, this.path)
  }
}

function limitGroup(path: string, { processes, memoryBytes }: Limits): { processes: boolean; memory: boolean } {
  try {
    mkdirSync(path, { recursive: true })
  } catch {
    // The start of the process reports it.
    return NO_LIMITS
  }
  const memory = memoryBytes ?? Math.floor(totalmem() * SHARE_OF_MEMORY)
  return { processes: setLimit(path, 'pids.max', processes), memory: setLimit(path, 'memory.max', memory) }
}

/** Groups of runners of this data directory that were not removed: those that its folder lists, and those in the cgroup of this process. */
export function knownGroups({ home, root }: GroupsPlace, found: FoundCgroup = findCgroup()): string[] {
  return [...new Set([...listedGroups(home), ...('path' in found ? groupsIn(found.path, root) : [])])]
}

function listedGroups(home: string): string[] {
  const list = listOf(home)
  return namesIn(list).flatMap((name) => {
    // Another runner may forget its group after the list was read.
    const path = unlessGone(() => readFileSync(join(list, name), 'utf8'))
    // Only a group of that name is ever ended or removed.
    return path !== null && basename(path) === name ? [path] : []
  })
}

const groupsIn = (folder: string, root: string): string[] =>
  namesIn(folder).flatMap((name) => (name.startsWith(prefixOf(root)) ? [join(folder, name)] : []))

const namesIn = (folder: string): string[] => unlessGone(() => readdirSync(folder)) ?? []

function unlessGone<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Pid of the runner that made a group. */
export const runnerOf = (group: string): number => Number(basename(group).split('-')[2])

/** The groups of a conversation in all runners of this data directory. */
export const groupsOf = (place: GroupsPlace, conversation: string): string[] =>
  knownGroups(place).map((group) => join(group, nameOf(conversation)))

/** Removes a group without processes, and its file. */
export function forgetGroup(home: string, group: string): void {
  if (removeGroup(group)) rmSync(join(listOf(home), basename(group)), { force: true })
}
