/** Ends a runner that no longer answers, so that another one can replace it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { privatePrefix } from './runner/ipc/names.ts'
import type { Place } from './runner/ipc/place.ts'

/** Milliseconds to wait for the end of a killed process; one that waits for a failed disk ends only after the disk answers. */
const END_MS = 5_000
/** Flag of a listening socket in /proc/net/unix. */
const LISTENING = 0x10000

/**
 * Kills the runner of this protocol that listens in the runner's folder. It is found by its socket, so that no other process is ever killed.
 * Returns its pid; null when it cannot be found or does not end. Linux only.
 */
export async function endHungRunner({ sockets }: Place): Promise<number | null> {
  const own = `${sockets}/${privatePrefix()}`
  const pid = listenerAt(own)
  if (pid === null) return null
  process.kill(pid, 'SIGKILL')
  for (const begun = performance.now(); listenerAt(own) === pid; await delay(20)) {
    if (performance.now() - begun > END_MS) return null
  }
  return pid
}

/** Pid of the process that listens on a socket whose path begins like this. */
function listenerAt(start: string): number | null {
  if (process.platform !== 'linux') return null
  // Columns: number, reference count, protocol, flags, type, state, inode, path.
  const inodes = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , flags = '', , , , path]) => path?.startsWith(start) && Number.parseInt(flags, 16) & LISTENING)
    .map(([, , , , , , inode]) => `socket:[${inode}]`)
  if (inodes.length === 0) return null
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.find((pid) => openFiles(pid).some((file) => inodes.includes(file))) ?? null
}

/** Targets of the descriptors of a process; empty when it has ended or belongs to another user. */
function openFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => targetOf(`/proc/${pid}/fd/${fd}`))
  } catch {
    return []
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    // Closed meanwhile.
    return ''
  }
}
