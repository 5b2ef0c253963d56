/** Requests of the server: those for users obey the rules, those of the operator's configuration do not. Source: docs/security.md, Requests for users. */
import type { AgentOptions } from 'node:http'
import { openAgents, type Agents, type EgressPurpose } from './agents.ts'
import { clientOf, type Fetch } from './client.ts'
import type { EgressRules } from './rules.ts'

/** Milliseconds an unused connection of `fetch` is kept: shorter than most servers keep it, so that few requests meet a closed one. */
const IDLE_MS = 4_000

export interface Egress extends Disposable {
  /** Agents for a pool of one's own, which the caller disposes. */
  agents(purpose: EgressPurpose, pool: AgentOptions): Agents
  /** Follows no redirect. Fails with `EgressRefused` for an address that the rules do not allow. */
  fetch(purpose: EgressPurpose): Fetch
  /** The same rules, with public addresses in place of any: for addresses in texts that a model or a stranger wrote. */
  readonly narrowed: Pick<Egress, 'agents'>
}

export function openEgress(rules: EgressRules): Egress {
  const opened: Agents[] = []
  const narrow = rules.map((rule) => (rule === 'any' ? 'public' : rule))
  return {
    agents: (purpose, pool) => openAgents(rules, purpose, pool),
    fetch(purpose) {
      const agents = openAgents(rules, purpose, { keepAlive: true, timeout: IDLE_MS })
      opened.push(agents)
      return clientOf({ agents })
    },
    narrowed: { agents: (purpose, pool) => openAgents(narrow, purpose, pool) },
    [Symbol.dispose]() {
      for (const agents of opened) agents[Symbol.dispose]()
    },
  }
}

/** For addresses that the operator configured: webhooks, callbacks, hosts of looked-up secrets. */
export const operatorFetch: Fetch = (input, init) => fetch(input, init)
