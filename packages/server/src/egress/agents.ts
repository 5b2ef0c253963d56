/**
 * Connections to addresses that users named.
 *
 * Invariants
 *   E1. The address of a connection is checked when it is connected to, so a name that resolves to another address later, a redirect
 *       and an unusual spelling change nothing.
 *   E2. No byte is sent to a refused address, and no connection to it is attempted.
 *   E3. Addresses of the operator's configuration are not checked; that is decided by the whole URL, not by its host.
 */
import { lookup } from 'node:dns'
import type { Agent, AgentOptions, ClientRequestArgs } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { nodeHttp, nodeHttps } from '../lib/index.ts'
import { EgressRefused } from './refusal.ts'
import { refusedClass, type EgressRules } from './rules.ts'

/** Connections to one kind of addresses; disposal closes those that are idle. */
export interface Agents extends Disposable {
  for(url: URL): Agent
}

/** @param member the member that names the addresses, for refusals; @param own base addresses of the operator, with their paths */
export type EgressPurpose = { member: string; own?: readonly (string | null)[] }

/** Creates an agent at the first request that needs it: a server that makes no requests loads no TLS. */
export function openAgents(rules: EgressRules, { member, own = [] }: EgressPurpose, pool: AgentOptions): Agents {
  const made = new Map<string, Agent>()
  const bases = own.flatMap((text) => (text === null ? [] : [new URL(text)]))
  return {
    for(url) {
      const isOwn = bases.some((base) => covers(base, url))
      const key = `${url.protocol} ${isOwn}`
      const agent = made.get(key) ?? agentFor(url.protocol, isOwn ? null : { rules, member }, pool)
      made.set(key, agent)
      return agent
    },
    [Symbol.dispose]() {
      for (const agent of made.values()) agent.destroy()
    },
  }
}

/** True for an address at or below a base address. */
export function covers({ origin, pathname }: URL, url: URL): boolean {
  return url.origin === origin && `${url.pathname}/`.startsWith(pathname.replace(/\/*$/, '/'))
}

type Check = { rules: EgressRules; member: string }
type OnConnect = (error: Error | null, stream: Duplex) => void
type Connecting = Agent & {
  createConnection(options: ClientRequestArgs, done?: OnConnect): Duplex | null | undefined
}

function agentFor(protocol: string, check: Check | null, pool: AgentOptions): Agent {
  const agent = (protocol === 'https:' ? new (nodeHttps().Agent)(pool) : new (nodeHttp().Agent)(pool)) as Connecting
  if (check === null) return agent
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, done) => {
    const host = (options.host ?? '').replace(/^\[|\]$/g, '')
    const port = Number(options.port)
    const refusal = (address: string) => {
      const found = refusedClass(check.rules, { host, port, address })
      return found === null ? null : new EgressRefused(check.member, found)
    }
    // A numeric host is connected to without a look-up.
    const refused = isIP(host) === 0 ? null : refusal(host)
    if (refused === null) return connect({ ...options, lookup: checkedLookup(refusal) }, done)
    done?.(refused, null as never)
    return undefined
  }
  return agent
}

/** Resolves a name, and fails when one of its addresses is refused. */
function checkedLookup(refusal: (address: string) => EgressRefused | null): LookupFunction {
  return (name, options, done) =>
    lookup(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, '', 0)
      const refused = found.map(({ address }) => refusal(address)).find((each) => each !== null)
      const [first] = found
      if (refused !== undefined || first === undefined)
        return done(refused ?? Object.assign(new Error(`${name} has no address`), { code: 'ENOTFOUND' }), '', 0)
      if (options.all) done(null, found)
      else done(null, first.address, first.family)
    })
}
