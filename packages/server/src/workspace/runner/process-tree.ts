/** Finds and ends processes by mark, session and groups, so that a process cannot escape by changing its session or process group. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { MARK } from './environment.ts'
import { killGroup, membersOf } from './groups/cgroup.ts'

/** Milliseconds between SIGTERM or SIGHUP, and SIGKILL. */
const GRACE_MS = 1_000
const GIVE_UP_MS = 5_000

export type ProcessSelection = {
  /** A mark in their environment; null: select by `leaders` only. */
  mark: string | null
  /** Marks of processes that are not selected by `mark`. */
  except?: readonly string[]
  /** Pids of session and group leaders. */
  leaders: ReadonlySet<number>
  /** Folders of groups that the kernel keeps. */
  groups?: readonly (string | null)[]
  /** Pids of further processes, computed for each search. */
  pids?: () => ReadonlySet<number>
}

export type FoundProcess = {
  pid: number
  /** Leads the session of a terminal: most likely an interactive shell, which ignores SIGTERM. */
  leadsTerminal: boolean
  /** The bubblewrap process of a sandbox. Only SIGKILL is sent to it, because its end would hide how the program inside ends. */
  isKeeper: boolean
}

/** Program name of bubblewrap processes, inside and outside of the sandbox. */
const KEEPER = 'bwrap'

/** Selected processes that are alive, without zombies. Without /proc, only the groups of `leaders` can be tested. */
export function findProcesses(selection: ProcessSelection): FoundProcess[] {
  const { mark, leaders, except = [], groups = [], pids } = selection
  const entries = readProc()
  if (entries === null) {
    return [...leaders]
      .filter((pid) => sendSignal(-pid, 0))
      .map((pid) => ({ pid: -pid, leadsTerminal: true, isKeeper: false }))
  }
  const listed = new Set([
    ...(pids?.() ?? []),
    ...groups.flatMap((group) => (group === null ? [] : [...membersOf(group)])),
  ])
  const found: (FoundProcess & { parent: number; hasTerminal: boolean })[] = []
  for (const name of entries) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    const stat = statOf(name)
    if (stat === null) continue
    const { parent, session, hasTerminal } = stat
    const isSelected = listed.has(pid) || leaders.has(stat.group) || leaders.has(session)
    if (!isSelected && (mark === null || !hasMark(name, mark, except))) continue
    const leadsTerminal = session === pid && hasTerminal
    found.push({ pid, leadsTerminal, isKeeper: stat.program === KEEPER, parent, hasTerminal })
  }
  const keepers = new Set(found.filter(({ isKeeper }) => isKeeper).map(({ pid }) => pid))
  // The shell in a sandbox is its first program; the bubblewrap process outside leads its terminal.
  return found.map(({ parent, hasTerminal, ...one }) => ({
    ...one,
    leadsTerminal: one.leadsTerminal || (hasTerminal && keepers.has(parent) && !one.isKeeper),
  }))
}

/** Returns whether a process is alive and in another session than that of `leader`. */
export function hasLeftSession(pid: number, leader: number): boolean {
  const stat = statOf(String(pid))
  return stat !== null && stat.session !== leader
}

/** A living process; null for one that has ended. */
function statOf(pid: string) {
  const stat = tryRead(`/proc/${pid}/stat`)
  if (stat === null) return null
  // The program name is in parentheses and may contain any character; state, parent, group, session and terminal follow the last parenthesis.
  const [state, parent, group, session, tty] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  const program = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
  return { program, parent: Number(parent), group: Number(group), session: Number(session), hasTerminal: tty !== '0' }
}

const ENDING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'])

/** Signals a process group. In a sandbox, signals other than SIGKILL go to the processes inside only. */
export function signalGroup(leader: number, name: NodeJS.Signals): void {
  if (name === 'SIGKILL') return void sendSignal(-leader, name)
  const members = findProcesses({ mark: null, leaders: new Set([leader]) })
  if (!members.some(({ isKeeper }) => isKeeper)) return void sendSignal(-leader, name)
  const inside = members.filter(({ isKeeper }) => !isKeeper)
  // The program inside has not started yet: bubblewrap ends instead, and the process outside reports the signal.
  if (inside.length === 0 && ENDING.has(name)) {
    for (const { pid } of members) sendSignal(pid, pid === leader ? name : 'SIGKILL')
  }
  for (const { pid } of inside) sendSignal(pid, name)
}

function hasMark(pid: string, mark: string, except: readonly string[]): boolean {
  const environment = tryRead(`/proc/${pid}/environ`)
  if (environment === null || !environment.includes(mark)) return false
  return environment
    .split('\0')
    .some(
      (entry) => entry.startsWith(`${MARK}=`) && entry.includes(mark) && !except.some((other) => entry.includes(other)),
    )
}

/**
 * Ends the selected processes: SIGTERM (SIGHUP for a shell), then SIGKILL after a second, until none is left. Resolves with the
 * pids that could not be ended, normally none. Polls, because /proc has no events.
 */
export async function endProcesses(selection: ProcessSelection): Promise<number[]> {
  const begun = performance.now()
  const signalled = new Set<number>()
  let wasEmpty = false
  for (let pauseMs = 3; ; pauseMs = Math.min(50, pauseMs * 2)) {
    const living = findProcesses(selection)
    const elapsedMs = performance.now() - begun
    // During execve a process shows no environment for a moment, so the selection must be empty twice.
    if ((living.length === 0 && wasEmpty) || elapsedMs > GIVE_UP_MS) return living.map(({ pid }) => pid)
    if (elapsedMs > GRACE_MS) for (const group of selection.groups ?? []) if (isForeign(group)) killGroup(group)
    wasEmpty = living.length === 0
    if (wasEmpty) pauseMs = 3
    for (const { pid, leadsTerminal, isKeeper } of living) {
      if (elapsedMs > GRACE_MS) sendSignal(pid, 'SIGKILL')
      else if (!signalled.has(pid) && !isKeeper) {
        sendSignal(pid, leadsTerminal ? 'SIGHUP' : 'SIGTERM')
        // A stopped process handles no signal before it continues.
        sendSignal(pid, 'SIGCONT')
      }
      signalled.add(pid)
    }
    await delay(pauseMs)
  }
}

/** A process that is in a group itself ends the members one by one. */
const isForeign = (group: string | null): group is string => group !== null && !membersOf(group).has(process.pid)

/** Sends a signal. Returns false when the process is gone or belongs to another user. */
export function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ESRCH' || code === 'EPERM') return false
    throw error
  }
}

function readProc(): string[] | null {
  if (process.platform !== 'linux') return null
  return readdirSync('/proc')
}

/** Null when the process has ended meanwhile, or belongs to another user. */
function tryRead(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return null
    throw error
  }
}
