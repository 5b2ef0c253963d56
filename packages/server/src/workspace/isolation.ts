/** The isolation of agents' commands from this machine, and its description for people and clients. */
import type { Network } from '../lib/index.ts'
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

/** `reason`: why commands are not isolated; null when they are. */
export type Isolation = { level: 'bubblewrap' | 'none'; network: Network; reason: string | null }

/** The level of isolation under a policy. Tests bubblewrap, which takes about 20 ms, so callers keep the result. */
export async function probeIsolation({ mode, network }: SandboxPolicy): Promise<Isolation> {
  if (mode === 'off') return { level: 'none', network: true, reason: 'the sandbox is off' }
  const found = await findBubblewrap()
  if ('path' in found) return { level: 'bubblewrap', network, reason: null }
  return { level: 'none', network: mode === 'auto', reason: found.reason }
}

/** How the processes of a conversation are found. `reason`: why they are not grouped by the kernel; null when they are. */
type ProcessTracking = { level: 'cgroup' | 'marks'; reason: string | null }

/** How a runner that this process starts finds processes. Source: docs/operations.md, Processes of a conversation. */
export function probeProcessTracking(): ProcessTracking {
  const found = findCgroup()
  return 'path' in found ? { level: 'cgroup', reason: null } : { level: 'marks', reason: found.reason }
}

/** Description for people, shown in a conversation's state. */
export function describeIsolation({ level, network }: Isolation): string {
  if (level === 'none') return 'sandbox: none'
  return `sandbox: ${level}, ${describeNetwork(network)}`
}

/** Description of the network access for people. */
export function describeNetwork(network: Network): string {
  if (typeof network === 'boolean') return `${network ? 'with' : 'without'} network`
  return `with network to ${network.join(', ')}`
}
