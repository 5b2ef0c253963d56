/** How far commands of agents are kept apart from this machine, in words for people and clients. */
import type { Network } from '../lib/index.ts'
import { findBubblewrap } from './runner/sandbox.ts'

/** `auto`: where it can be had. `required`: nothing is started without. */
export type SandboxPolicy = { mode: 'auto' | 'required' | 'off'; network: Network }

/** `reason`: why there is no more; null where there is. */
export type Isolation = { level: 'bubblewrap' | 'none'; network: Network; reason: string | null }

/** The level that commands reach under this policy. Tries bubblewrap, which takes some 20 ms: ask once. */
export async function lookAtIsolation({ mode, network }: SandboxPolicy): Promise<Isolation> {
  if (mode === 'off') return { level: 'none', network: true, reason: 'the sandbox is off' }
  const found = await findBubblewrap()
  if ('path' in found) return { level: 'bubblewrap', network, reason: null }
  return { level: 'none', network: mode === 'auto', reason: found.reason }
}

/** For people, in a conversation's state. */
export function describeIsolation({ level, network }: Isolation): string {
  if (level === 'none') return 'sandbox: none'
  return `sandbox: ${level}, ${describeNetwork(network)}`
}

/** For people. */
export function describeNetwork(network: Network): string {
  if (typeof network === 'boolean') return `${network ? 'with' : 'without'} network`
  return `with network to ${network.join(', ')}`
}
