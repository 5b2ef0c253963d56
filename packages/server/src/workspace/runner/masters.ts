/**
 * The terminals' own ends, which must stay with the runner: node-pty opens them without close-on-exec, so every later
 * child would inherit them, and with them the screens and keyboards of other conversations.
 */
import { openSync } from 'node:fs'
import type { StdioOptions } from 'node:child_process'

/** Descriptors of this process that no child may get. */
const masters = new Set<number>()
let nothing: number | null = null

export function keepBack(descriptor: number): Disposable {
  masters.add(descriptor)
  return { [Symbol.dispose]: () => void masters.delete(descriptor) }
}

/** For a shell that closes them itself before it becomes what it is to be. */
export const heldBack = (): string[] => [...masters].map(String)

/** Three pipes, and the empty file in the place of every descriptor that is held back. */
export function pipesOnly(): StdioOptions {
  const stdio: Exclude<StdioOptions, string> = ['pipe', 'pipe', 'pipe']
  if (masters.size === 0) return stdio
  nothing ??= openSync('/dev/null', 'r')
  for (let fd = 3, last = Math.max(...masters); fd <= last; fd++) stdio[fd] = masters.has(fd) ? nothing : 'ignore'
  return stdio
}
