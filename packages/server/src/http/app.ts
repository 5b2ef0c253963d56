/** The edge as a whole: routes, sockets, documentation, over one listener. */
import {
  agentServerRows,
  auditRows,
  clientToolRows,
  deliveryRows,
  hookRows,
  skillRows,
  gatewayRows,
  keyRows,
  lifecycleRows,
  receiverRows,
  seedRows,
  serverRows,
  settingsRows,
  steeringRows,
  trajectoryRows,
  type Endpoint,
} from '@parley/protocol'
import type { Actor, Conversations, Receiver } from '../conversation/index.ts'
import type { Log } from '../observability/index.ts'
import type { NamedSecrets, UserSettings } from '../settings/index.ts'
import type { AuditStore } from '../storage/index.ts'
import { conversationRoutes } from './agent-server/conversations.ts'
import { eventRoutes } from './agent-server/events.ts'
import { CONTRACT_VERSION, DEFAULT_FACTS, type ServerFacts, serverRoutes } from './agent-server/server-info.ts'
import { skillRoutes, type SkillsOfDirectory } from './agent-server/skills.ts'
import { hookRoutes, type HooksOfDirectory } from './agent-server/hooks.ts'
import { type Machine, machineRoutes, machineRows } from './agent-server/machine.ts'
import { settingsRoutes, storedSecretRoutes } from './agent-server/settings.ts'
import { clientToolRoutes } from './agent-server/client-tools.ts'
import { type Steering, steeringRoutes } from './agent-server/steering.ts'
import { Audit, auditRoutes } from './audit.ts'
import type { Auth, Authenticate } from './auth.ts'
import { createCors } from './cors.ts'
import { documentationRoutes } from './documentation.ts'
import { createHosts } from './hosts.ts'
import { type Gateway, gatewayRoutes } from './gateway/chat.ts'
import { keyRoutes, type Keys } from './keys.ts'
import { Connections, type LiveLimits } from './live/connections.ts'
import { BashSockets } from './live/bash-socket.ts'
import { Handshakes } from './live/handshake.ts'
import { KeyWatch } from './live/key-watch.ts'
import { EventSockets } from './live/socket.ts'
import { Guesses, KeyBudgets } from './rate-limits.ts'
import { startRoutes, type Starts } from './seed/conversations.ts'
import { lifecycleRoutes } from './seed/lifecycle.ts'
import { seedSecretRoutes } from './seed/secrets.ts'
import { seedSettingsRoutes } from './seed/settings.ts'
import { trajectoryRoutes } from './seed/trajectory.ts'
import { receiverRoutes } from './seed/webhook-receiver.ts'
import { createWeb, type WebDeps } from './web.ts'
import { type Deliveries, deliveryRoutes } from './webhooks.ts'

export type AppDeps = Starts & {
  conversations: Conversations
  authenticate: Authenticate
  /** Absent: no routes for them. */
  settings?: UserSettings
  /** Absent: no routes for them. */
  secrets?: NamedSecrets
  /** Absent: no routes for files, commands, git and profiles. */
  machine?: Machine
  /** Absent: no routes for goals, other models and secrets of conversations. */
  steering?: Steering
  /** Absent: no chat completions. */
  gateway?: Gateway
  /** Absent: no route for hooks of projects. */
  hooksOf?: HooksOfDirectory
  /** Absent: that row is not served. */
  skillsOf?: SkillsOfDirectory
  /** Absent: no routes for what other servers tell. */
  receiver?: Receiver
  /** Absent: no routes for what is told to others. */
  deliveries?: Deliveries
  /** Absent: no routes for them. */
  keys?: Keys
  /** Absent: nobody notes who did what. */
  audit?: AuditStore
  /** Requests of one key in a minute; absent or 0: no limit. */
  rateLimitPerMinute?: number
  /** What the server says of itself; what is left out has defaults. */
  info?: Partial<ServerFacts>
  /** Full origins that may read answers beside this machine's. */
  corsOrigins: readonly string[]
  /** Host names under which this server is known, beside this machine's own; absent: any. */
  hostNames?: readonly string[]
  /** Whether a socket's key may stand in its address, as existing clients send it; absent: it may. */
  takesKeyInUrl?: boolean
  bodyLimitBytes: number
  log: Log
  /** Answer everyone on this machine as this actor. */
  noKeys?: Actor
  limits?: Partial<LiveLimits>
}

export type App = {
  /** Resolves when requests are answered. `port` 0 takes any free one; the answer says which. */
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Stops accepting, tells live readers to come back (1012), and waits until every request and reader is gone. */
  close(): Promise<void>
}

/** What the description tells of, as far as it is served. */
const ROWS: readonly Endpoint[] = [
  ...agentServerRows,
  ...steeringRows,
  ...clientToolRows,
  ...lifecycleRows,
  ...trajectoryRows,
  ...seedRows.slice(1),
  ...settingsRows,
  ...receiverRows,
  ...deliveryRows,
  ...hookRows,
  ...skillRows,
  ...keyRows,
  ...auditRows,
  ...machineRows,
  ...gatewayRows,
  ...serverRows,
]

export function createApp(deps: AppDeps): App {
  const { conversations, log, authenticate, noKeys, bodyLimitBytes, settings, secrets } = deps
  const auth: Auth = { authenticate, noKeys, guesses: new Guesses() }
  const audit = deps.audit && new Audit(deps.audit, log)
  const keyWatch = new KeyWatch(authenticate, log)
  const cors = createCors(deps.corsOrigins)
  const isOurHost = deps.hostNames && createHosts(deps.hostNames)
  const connections = new Connections(deps.limits)
  const { isAllowed: isAllowedOrigin } = cors
  let touchedAt = performance.now()
  const touch = () => void (touchedAt = performance.now())
  const idleMs = () => Math.min(conversations.idleMs(), performance.now() - touchedAt)
  const { machine } = deps
  const handshakes = new Handshakes({
    auth,
    connections,
    keyWatch,
    isAllowedOrigin,
    isOurHost,
    takesKeyInUrl: deps.takesKeyInUrl,
    frameLimitBytes: bodyLimitBytes,
    log,
  })
  const sockets = new EventSockets({ conversations, handshakes, connections, log, audit })
  const bashSockets = machine && new BashSockets({ bash: machine.bash, handshakes, log, touch, audit })
  const routes = [
    ...startRoutes(deps, conversations),
    ...lifecycleRoutes(conversations),
    ...trajectoryRoutes(conversations, log),
    ...conversationRoutes(conversations, log),
    ...clientToolRoutes(conversations),
    ...(deps.steering === undefined ? [] : steeringRoutes(conversations, deps.steering)),
    ...(deps.gateway === undefined ? [] : gatewayRoutes(conversations, deps.gateway)),
    ...eventRoutes(conversations, connections, log, noKeys === undefined ? keyWatch : undefined),
    ...(settings === undefined ? [] : [...seedSettingsRoutes(settings), ...settingsRoutes(settings, log)]),
    ...(secrets === undefined ? [] : [...seedSecretRoutes(secrets), ...storedSecretRoutes(secrets)]),
    ...(deps.receiver === undefined ? [] : receiverRoutes(deps.receiver)),
    ...(deps.deliveries === undefined ? [] : deliveryRoutes(deps.deliveries)),
    ...(deps.keys === undefined ? [] : keyRoutes(deps.keys, (keyId) => void keyWatch.check(keyId))),
    ...(deps.audit === undefined || audit === undefined ? [] : auditRoutes(deps.audit, audit)),
    ...(deps.hooksOf === undefined ? [] : hookRoutes(deps.hooksOf)),
    ...(deps.skillsOf === undefined ? [] : skillRoutes(deps.skillsOf)),
    ...(machine === undefined ? [] : machineRoutes(machine, { log, touch })),
    ...serverRoutes({ ...DEFAULT_FACTS, ...deps.info }, { idleMs }),
  ]
  const served = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  const described = ROWS.filter(({ method, path }) => served.has(`${method} ${path}`))
  const upgrade: WebDeps['upgrade'] = (request, socket, head) =>
    (BashSockets.isFor(request) && bashSockets ? bashSockets : sockets).upgrade(request, socket, head)
  const web = createWeb([...routes, ...documentationRoutes(described, CONTRACT_VERSION)], {
    auth,
    cors,
    isOurHost,
    bodyLimitBytes,
    log,
    budgets: new KeyBudgets(deps.rateLimitPerMinute ?? 0),
    audit,
    upgrade,
  })
  return {
    listen: (address) => web.listen(address),
    close: async () => {
      // Live readers hold their connections open, so the listener can only finish after them.
      await Promise.all([web.close(), connections.shutDown()])
      await audit?.close()
    },
  }
}
