/**
 * Descriptors of pseudo-terminals, which only the runner may hold: node-pty opens them without close-on-exec, so every later
 * child would inherit them, and with them the terminals of other conversations.
 */
import { openSync } from 'node:fs'
import type { StdioOptions } from 'node:child_process'

/** Descriptors of this process that no child may inherit. */
const ptyFds = new Set<number>()
let nothing: number | null = null

export function reservePtyFd(descriptor: number): Disposable {
  ptyFds.add(descriptor)
  return { [Symbol.dispose]: () => void ptyFds.delete(descriptor) }
}

/** For a shell that closes them itself before it starts its program. */
export const reservedPtyFds = (): string[] => [...ptyFds].map(String)

/** Three pipes for standard streams, and /dev/null in place of every reserved descriptor. */
export function withoutPtyFds(): StdioOptions {
  const stdio: Exclude<StdioOptions, string> = ['pipe', 'pipe', 'pipe']
  if (ptyFds.size === 0) return stdio
  nothing ??= openSync('/dev/null', 'r')
  for (let fd = 3, last = Math.max(...ptyFds); fd <= last; fd++) stdio[fd] = ptyFds.has(fd) ? nothing : 'ignore'
  return stdio
}
