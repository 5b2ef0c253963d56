/** Liveness without a key, and details: without a key only those that clients need to choose a server. Source: agent-server-wire.md 1.3. */
import { alive, health, ParleyError, ready, type ServerInfo, serverInfo } from '@parley/protocol'
import type { Conversations } from '../../conversation/index.ts'
import { BUILD, VERSION } from '../../lib/index.ts'
import { ok, openRoute } from '../core/route.ts'
import type { Route } from '../core/web.ts'

/** Facts about the server that its details show. */
export type ServerFacts = {
  /** Version of Parley. */
  version: string
  buildGitSha: string
  buildGitRef: string
  /** Names of the usable tools. */
  usableTools: readonly string[]
  /** Whether it is for one user or for several. */
  mode: 'personal' | 'shared'
  /** Isolation of commands from this machine. */
  isolation: { level: 'bubblewrap' | 'none'; network: boolean | readonly string[] }
  /** How processes of a conversation are found: in a group of the kernel, or by the marks in their environment. */
  processTracking: 'cgroup' | 'marks'
}

/** The implemented agent-server contract. Clients gate features on it, so it changes only with the contract. */
export const CONTRACT_VERSION = '1.43.1'

export const DEFAULT_FACTS: ServerFacts = {
  version: VERSION,
  buildGitSha: 'unknown',
  buildGitRef: 'unknown',
  usableTools: [],
  mode: 'personal',
  isolation: { level: 'none', network: true },
  processTracking: 'marks',
}

/** @param isReady false: load balancers send no more requests */
export function serverRoutes(
  facts: ServerFacts,
  conversations: Pick<Conversations, 'idleMs'>,
  isReady: () => boolean,
): Route[] {
  const startedAt = performance.now()
  const info: Route['answer'] = async ({ actor }) => {
    const contract = contractDetails(facts, performance.now() - startedAt, conversations.idleMs())
    return ok(serverInfo, actor === null ? contract : { ...contract, ...details(facts) })
  }
  const infoRoute = { ...openRoute(serverInfo, async () => ok(serverInfo, {})), answer: info, isOpenWithActor: true }
  return [
    { ...openRoute(alive, async () => ok(alive, { status: 'ok' })), isProbe: true },
    { ...openRoute(health, async () => ok(health, { status: 'ok' })), isProbe: true },
    { ...openRoute(ready, async () => readiness(isReady())), isProbe: true },
    infoRoute,
    { ...infoRoute, path: '/' },
  ]
}

function readiness(isReady: boolean) {
  if (!isReady) throw new ParleyError('unavailable', 'The server is about to end.')
  return ok(ready, { status: 'ready' })
}

/** The members that the contract requires. Values that would describe this installation are neutral ones. */
function contractDetails({ usableTools }: ServerFacts, uptimeMs: number, idleMs: number): ServerInfo {
  return {
    uptime: Math.floor(uptimeMs / 1000),
    idle_time: Math.floor(idleMs / 1000),
    title: 'Parley',
    version: CONTRACT_VERSION,
    sdk_version: CONTRACT_VERSION,
    tools_version: CONTRACT_VERSION,
    workspace_version: CONTRACT_VERSION,
    build_git_sha: 'unknown',
    build_git_ref: 'unknown',
    python_version: 'none',
    usable_tools: [...usableTools],
    runtime_idle_timeout_seconds: null,
    capabilities: ['demo'],
    max_foreground_terminal_timeout_seconds: null,
    docs: '/docs',
    redoc: '/redoc',
  }
}

/** What a request with a key gets in addition. */
function details(facts: ServerFacts): Record<string, unknown> {
  return {
    parley_version: facts.version,
    build: BUILD,
    build_git_sha: facts.buildGitSha,
    build_git_ref: facts.buildGitRef,
    python_version: `none (Node.js ${process.versions.node})`,
    mode: facts.mode,
    isolation: facts.isolation,
    process_tracking: facts.processTracking,
  }
}
