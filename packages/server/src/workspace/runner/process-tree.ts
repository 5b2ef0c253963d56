/** Finding and ending every process that belongs to something, whatever session or group it moved to. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { MARK } from './environment.ts'

/** Milliseconds between the polite signal and the final one. */
const GRACE_MS = 1_000
const GIVE_UP_MS = 5_000

export type Belonging = {
  /** A mark in their environment; null: only the leaders count. */
  mark: string | null
  /** Processes whose session or group these lead. */
  leaders: ReadonlySet<number>
}

export type Found = {
  pid: number
  /** It leads the session of a terminal: a shell, most likely an interactive one, which ignores TERM. */
  leadsTerminal: boolean
  /** It keeps a sandbox: its end would hide how the program inside ends, so it is only ever killed. */
  isKeeper: boolean
}

/** The program name of those, inside and outside of the sandbox. */
const KEEPER = 'bwrap'

/** Living processes that belong; zombies are over. Where there is no /proc, only the leaders' groups can be asked for. */
export function findProcesses({ mark, leaders }: Belonging): Found[] {
  const entries = readProc()
  if (entries === null) {
    return [...leaders]
      .filter((pid) => signal(-pid, 0))
      .map((pid) => ({ pid: -pid, leadsTerminal: true, isKeeper: false }))
  }
  const found: (Found & { parent: number; hasTerminal: boolean })[] = []
  for (const name of entries) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    const stat = tryRead(`/proc/${name}/stat`)
    if (stat === null) continue
    // The program name is in parentheses and may hold anything; state, parent, group, session and terminal follow the last one.
    const [state, parent, group, session, tty] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') continue
    const isLed = leaders.has(Number(group)) || leaders.has(Number(session))
    if (!isLed && (mark === null || !hasMark(name, mark))) continue
    const isKeeper = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')) === KEEPER
    const hasTerminal = tty !== '0'
    const leadsTerminal = Number(session) === pid && hasTerminal
    found.push({ pid, leadsTerminal, isKeeper, parent: Number(parent), hasTerminal })
  }
  const keepers = new Set(found.filter(({ isKeeper }) => isKeeper).map(({ pid }) => pid))
  // The shell in a sandbox is its first program, and its terminal is led by the keeper outside.
  return found.map(({ parent, hasTerminal, ...one }) => ({
    ...one,
    leadsTerminal: one.leadsTerminal || (hasTerminal && keepers.has(parent) && !one.isKeeper),
  }))
}

const ENDING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'])

/** Signals a process group; of a sandbox only what is inside, unless it is to be killed. */
export function signalGroup(leader: number, name: NodeJS.Signals): void {
  if (name === 'SIGKILL') return void signal(-leader, name)
  const members = findProcesses({ mark: null, leaders: new Set([leader]) })
  if (!members.some(({ isKeeper }) => isKeeper)) return void signal(-leader, name)
  const inside = members.filter(({ isKeeper }) => !isKeeper)
  // Nobody is inside yet: it ends before it begins, and the keeper outside tells by which signal.
  if (inside.length === 0 && ENDING.has(name)) {
    for (const { pid } of members) signal(pid, pid === leader ? name : 'SIGKILL')
  }
  for (const { pid } of inside) signal(pid, name)
}

function hasMark(pid: string, mark: string): boolean {
  const environment = tryRead(`/proc/${pid}/environ`)
  if (environment === null || !environment.includes(mark)) return false
  return environment.split('\0').some((entry) => entry.startsWith(`${MARK}=`) && entry.includes(mark))
}

/**
 * Ends what belongs: TERM (HUP for a shell), then KILL after a second, until nothing is left. Resolves with the pids that
 * could not be ended, normally none. /proc has no events, so it is looked at again and again.
 */
export async function endProcesses(belonging: Belonging): Promise<number[]> {
  const begun = performance.now()
  const asked = new Set<number>()
  let wasEmpty = false
  for (let pauseMs = 3; ; pauseMs = Math.min(50, pauseMs * 2)) {
    const living = findProcesses(belonging)
    const elapsedMs = performance.now() - begun
    // A process that is just being replaced by a program shows no environment for a moment: one look is not enough.
    if ((living.length === 0 && wasEmpty) || elapsedMs > GIVE_UP_MS) return living.map(({ pid }) => pid)
    wasEmpty = living.length === 0
    if (wasEmpty) pauseMs = 3
    for (const { pid, leadsTerminal, isKeeper } of living) {
      if (elapsedMs > GRACE_MS) signal(pid, 'SIGKILL')
      else if (!asked.has(pid) && !isKeeper) {
        signal(pid, leadsTerminal ? 'SIGHUP' : 'SIGTERM')
        // What is stopped would not hear it.
        signal(pid, 'SIGCONT')
      }
      asked.add(pid)
    }
    await delay(pauseMs)
  }
}

/** Sends a signal; false when there is nobody to get it. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
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

/** A process may end while it is looked at, or belong to another user. */
function tryRead(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return null
    throw error
  }
}
