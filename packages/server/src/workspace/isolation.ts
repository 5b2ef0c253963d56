/** The isolation of agents' commands from this machine, and its description for people and clients. */
import type { Network } from '../lib/index.ts'
import type { Account } from './account/account.ts'
import { findCgroup } from './runner/groups/cgroup.ts'
import type { Limits } from './runner/ipc/protocol.ts'
import { findBubblewrap } from './runner/sandbox/sandbox.ts'

/** `auto`: sandboxed where possible. `required`: no command starts without a sandbox. */
export type SandboxPolicy = {
  mode: 'auto' | 'required' | 'off'
  network: Network
  /** Absolute paths of directories that are shown read-only besides the usual ones. */
  toolchains?: readonly string[]
  limits?: Limits
  /** Absolute paths of files that are hidden, such as the configuration. */
  hidden?: readonly string[]
}

/**
 * `reason`: why commands are not isolated, and `remedy`: what the operator can do; null when they are isolated, or meant not to be. `account`: the one they run as; null: that of the server.
 */
export type Isolation = {
  level: 'bubblewrap' | 'none'
  network: Network
  reason: string | null
  remedy: string | null
  account: string | null
}

/** The level of isolation under a policy. Tests bubblewrap, which takes about 20 ms, so callers keep the result. */
export async function probeIsolation({ mode, network }: SandboxPolicy, account: Account | null): Promise<Isolation> {
  const of = { account: account?.name ?? null, remedy: null }
  if (mode === 'off') return { level: 'none', network: true, reason: 'the sandbox is off', ...of }
  const found = await findBubblewrap(process.env['PATH'], account)
  if ('path' in found) return { level: 'bubblewrap', network, reason: null, ...of }
  return { ...of, level: 'none', network: mode === 'auto', ...found }
}

/** How the processes of a conversation are found. `reason`: why they are not grouped by the kernel; null when they are. */
type ProcessTracking = { level: 'cgroup' | 'marks'; reason: string | null }

/** How a runner that this process starts finds processes. Source: docs/operations.md, Processes of a conversation. */
export function probeProcessTracking(): ProcessTracking {
  const found = findCgroup()
  return 'path' in found ? { level: 'cgroup', reason: null } : { level: 'marks', reason: found.reason }
}

/** Description for people, shown in a conversation's state. */
export function describeIsolation({ level, network, account }: Isolation): string {
  const as = account === null ? '' : `, as ${account}`
  if (level === 'none') return `sandbox: none${as}`
  return `sandbox: ${level}, ${describeNetwork(network)}${as}`
}

/** Description of the network access for people. */
export function describeNetwork(network: Network): string {
  if (typeof network === 'boolean') return `${network ? 'with' : 'without'} network`
  return `with network to ${network.join(', ')}`
}
