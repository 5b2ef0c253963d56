/** The HTTP application: routes, sockets and API description on one listener. */
import { type Endpoint, sendMessage, startBashCommand } from '@parley/protocol'
import type { Actor, Conversations, Receiver } from '../conversation/index.ts'
import type { Coordination } from '../coordination/index.ts'
import type { Demo } from '../demo/index.ts'
import type { ExpectAddresses } from '../egress/index.ts'
import type { Log } from '../observability/index.ts'
import type { Quotas } from '../quotas/index.ts'
import type { Logins, NamedSecrets, UserSettings } from '../settings/index.ts'
import type { Cipher } from '../secrets/index.ts'
import { Forwarding, type ForwardingDeps } from './forward/forwarding.ts'
import type { AuditLog, IdempotencyStore } from '../storage/index.ts'
import { conversationRoutes } from './agent-server/conversations.ts'
import { takesSocket } from './forward/passed-socket.ts'
import { notAvailableRoutes } from './agent-server/not-available.ts'
import { approvalRoutes } from './agent-server/approvals.ts'
import { eventRoutes } from './agent-server/events.ts'
import { usageRoutes } from './agent-server/usage.ts'
import { CONTRACT_VERSION, DEFAULT_FACTS, type ServerFacts, serverRoutes } from './agent-server/server-info.ts'
import { skillRoutes, type SkillsOfDirectory } from './agent-server/skills.ts'
import { hookRoutes, type HooksOfDirectory } from './agent-server/hooks.ts'
import { subAgentRoutes, type SubAgentsOfDirectory } from './agent-server/sub-agents.ts'
import { type Machine, machineRoutes } from './agent-server/machine.ts'
import { settingsRoutes, storedSecretRoutes } from './agent-server/settings.ts'
import { clientToolRoutes } from './agent-server/client-tools.ts'
import { type Steering, steeringRoutes } from './agent-server/steering.ts'
import { auditRoutes } from './admin/audit.ts'
import type { Auth, Authenticate } from './core/auth.ts'
import { createAddressOf } from './core/client-address.ts'
import { createCors } from './core/cors.ts'
import { demoRoutes } from './demo/demo.ts'
import { documentationRoutes } from './openapi/documentation.ts'
import { createHosts } from './core/hosts.ts'
import { IdempotentRequests } from './core/idempotency.ts'
import { type Gateway, gatewayRoutes } from './gateway/chat.ts'
import { keyRoutes, type Keys } from './admin/keys.ts'
import { metricsRoutes, type ReadMetrics } from './admin/metrics.ts'
import { fleetRoutes, type FleetDeps } from './admin/fleet.ts'
import { quotaRoutes } from './admin/quotas.ts'
import { userRoutes, type Users } from './admin/users.ts'
import { Connections, type LiveLimits } from './live/connections.ts'
import { BashSockets } from './live/bash-socket.ts'
import { Handshakes } from './live/handshake.ts'
import { KeyWatch } from './live/key-watch.ts'
import { EventSockets } from './live/socket.ts'
import { WatchSockets } from './live/watch-socket.ts'
import { Guesses, RequestBudgets } from './core/rate-limits.ts'
import { bodyLimitOf } from './core/request-limits.ts'
import { startRoutes, type Starts } from './conversation-service/conversations.ts'
import { lifecycleRoutes } from './conversation-service/lifecycle.ts'
import { conversationServiceSecretRoutes } from './conversation-service/secrets.ts'
import { conversationServiceSettingsRoutes } from './conversation-service/settings.ts'
import { completionRoutes } from './agent-server/completions.ts'
import { trajectoryRoutes } from './conversation-service/trajectory.ts'
import { receiverRoutes } from './conversation-service/webhook-receiver.ts'
import { createWeb, type WebDeps } from './core/web.ts'
import { type Deliveries, deliveryRoutes } from './admin/deliveries.ts'
import { loginRoutes } from './login/login-sessions.ts'
import { isSameOrigin } from './core/hosts.ts'
import { webUiRoutes } from './web-ui/web-ui.ts'

export type AppDeps = Starts &
  Pick<ForwardingDeps, 'isLoaded' | 'onForward' | 'userOf' | 'nodes'> & {
    coordination: ForwardingDeps['coordination'] & Pick<Coordination, 'tell' | 'on'>
    conversations: Conversations
    authenticate: Authenticate
    settings: UserSettings
    secrets: NamedSecrets
    machine: Machine
    steering: Steering
    gateway: Gateway
    hooksOf: HooksOfDirectory
    skillsOf: SkillsOfDirectory
    subAgentsOf: SubAgentsOfDirectory
    receiver: Receiver
    fleet: FleetDeps
    deliveries: Deliveries
    demo: Demo
    /** Signing secrets of servers that send webhooks here; none: they need no signature. */
    webhookSecrets: readonly string[]
    keys: Keys
    logins: Logins
    users: Users
    /** True for a user whose requests are refused. */
    isSuspended: (user: string) => boolean
    audit: AuditLog
    /** Text of the metrics of the server. */
    metrics: ReadMetrics
    /** Requests with an `Idempotency-Key`, and the cipher that seals their answers. */
    idempotency: IdempotencyStore
    cipher: Pick<Cipher, 'seal' | 'open' | 'keyFor'>
    /** Requests of one key in a minute; 0: no limit. */
    rateLimitPerMinute: number
    quotas: Quotas
    /** False while load balancers are to send no more requests. */
    isReady: () => boolean
    info: Pick<ServerFacts, 'usableTools' | 'mode' | 'isolation' | 'processTracking'>
    /** Full origins of pages that may read responses, besides those of this machine. */
    corsOrigins: readonly string[]
    /** Folder of the built web UI; null: the UI is switched off. */
    uiFolder: string | null
    /** Host names of this server, besides this machine's own. */
    hostNames: readonly string[]
    /** Addresses and networks of proxies whose `X-Forwarded-For` counts. */
    trustedProxies: readonly string[]
    /** A socket's key may stand in its address, as existing clients send it. */
    takesKeyInUrl: boolean
    /** Largest body of every route and largest frame of a socket, in bytes; null: those of the rows. */
    bodyLimitBytes: number | null
    expectAddresses: ExpectAddresses
    log: Log
    /** Actor of every request, for a server without keys. */
    noKeys?: Actor
    /** Default: `LIVE_LIMITS`. */
    limits?: Partial<LiveLimits>
  }

export type App = {
  /** Resolves when requests are answered. `port` 0 selects a free one, which the result names. */
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /**
   * Stops accepting, closes live connections with 1012, and waits until all requests and connections have ended. Aborting
   * `patience` closes the connections of the requests that still run.
   */
  close(patience: AbortSignal): Promise<void>
}

export function createApp(deps: AppDeps): App {
  const { conversations, log, authenticate, noKeys, bodyLimitBytes, audit, machine } = deps
  const forwarding = new Forwarding({
    ...deps,
    demoOf: (user) => deps.demo.idOf(user),
    addressOf: createAddressOf(deps.trustedProxies),
  })
  const { addressOf } = forwarding
  const onWrongKey = (address: string | undefined) => audit.noteWrongKey(address)
  const guesses = new Guesses(onWrongKey)
  const auth: Auth = { authenticate, noKeys, guesses, addressOf }
  const budgets = new RequestBudgets(deps.rateLimitPerMinute, deps.quotas.requests, deps.nodes)
  const keyWatch = new KeyWatch(authenticate, log)
  const onRefused = (keyId: string) => {
    void keyWatch.check(keyId)
    deps.coordination.tell('keys', keyId)
  }
  const refusedElsewhere = deps.coordination.on('keys', (keyId) => void keyWatch.check(keyId))
  const cors = createCors(deps.corsOrigins, noKeys === undefined)
  const isOurHost = createHosts(deps.hostNames)
  const connections = new Connections(deps.quotas.sockets, deps.limits)
  const { isAllowed: isAllowedOrigin } = cors
  let touchedAt = performance.now()
  const touch = () => void (touchedAt = performance.now())
  const idleMs = () => Math.min(conversations.idleMs(), performance.now() - touchedAt)
  const handshakes = new Handshakes({
    auth,
    connections,
    keyWatch,
    isAllowedOrigin,
    isOurHost,
    takesKeyInUrl: deps.takesKeyInUrl,
    log,
  })
  const { requests } = deps.quotas
  const limitOf = (row: Endpoint) => bodyLimitOf(row, bodyLimitBytes)
  const ofMessages = limitOf(sendMessage)
  const ofCommands = limitOf(startBashCommand)
  const sockets = new EventSockets({
    conversations,
    forwarding,
    handshakes,
    connections,
    requests,
    frameLimitBytes: ofMessages,
    log,
    audit,
  })
  const bashSockets = new BashSockets({
    bash: machine.bash,
    forwarding,
    handshakes,
    frameLimitBytes: ofCommands,
    log,
    touch,
    audit,
    requests,
  })
  const watchSockets = new WatchSockets({ conversations, connections, forwarding, handshakes, requests, log })
  const routes = [
    ...startRoutes(deps, conversations),
    ...lifecycleRoutes(conversations),
    ...trajectoryRoutes(conversations, log),
    ...completionRoutes(conversations),
    ...conversationRoutes(conversations, log),
    ...clientToolRoutes(conversations),
    ...steeringRoutes(conversations, deps.steering),
    ...gatewayRoutes(conversations, deps.gateway),
    ...approvalRoutes(conversations),
    ...usageRoutes(conversations),
    ...demoRoutes(deps.demo),
    ...eventRoutes(conversations, connections, log, noKeys === undefined ? keyWatch : undefined),
    ...conversationServiceSettingsRoutes(deps.settings),
    ...settingsRoutes(deps.settings, log),
    ...conversationServiceSecretRoutes(deps.secrets),
    ...storedSecretRoutes(deps.secrets),
    ...receiverRoutes(deps.receiver, { secrets: deps.webhookSecrets, limitOf }),
    ...deliveryRoutes(deps.deliveries),
    ...keyRoutes(deps.keys, onRefused),
    ...loginRoutes({
      logins: deps.logins,
      guesses,
      budgets,
      isOurPage: ({ origin, host }) =>
        origin === undefined || isAllowedOrigin(origin) || (isSameOrigin(origin, host) && isOurHost(host)),
      onEnded: onRefused,
      isWithoutKeys: noKeys !== undefined,
      features: featuresOf(deps.info),
      hasModel: machine.hasModel,
    }),
    ...userRoutes(deps.users, deps.keys, onRefused),
    ...fleetRoutes(deps.fleet),
    ...auditRoutes(audit),
    ...quotaRoutes(deps.quotas),
    ...metricsRoutes(deps.metrics),
    ...hookRoutes(deps.hooksOf),
    ...skillRoutes(deps.skillsOf),
    ...subAgentRoutes(deps.subAgentsOf),
    ...notAvailableRoutes(conversations),
    ...machineRoutes(machine, { quotas: deps.quotas, log, touch }),
    ...webUiRoutes(deps.uiFolder, serverRoutes({ ...DEFAULT_FACTS, ...deps.info }, { idleMs }, deps.isReady), log),
  ]
  const described = routes.flatMap(({ row, path }) => (row?.path === path ? [row] : []))
  const upgrade: WebDeps['upgrade'] = async (request, socket, head) => {
    if (!(await takesSocket(request, socket, forwarding, log))) return
    const ofKind = BashSockets.isFor(request) ? bashSockets : WatchSockets.isFor(request) ? watchSockets : sockets
    await ofKind.upgrade(request, socket, head)
  }
  const idempotency = new IdempotentRequests({ store: deps.idempotency, cipher: deps.cipher, log })
  const web = createWeb([...routes, ...documentationRoutes(described, CONTRACT_VERSION, limitOf)], {
    auth,
    cors,
    isOurHost,
    bodyLimitBytes,
    isSuspended: deps.isSuspended,
    expectAddresses: deps.expectAddresses,
    log,
    budgets,
    audit,
    idempotency,
    nodes: { forwarding, connections },
    upgrade,
  })
  return {
    listen: (address) => web.listen(address),
    close: async (patience) => {
      // Live connections stay open, so the listener can close only after them.
      await Promise.all([web.close(patience), connections.shutDown()])
      forwarding[Symbol.dispose]()
      refusedElsewhere[Symbol.dispose]()
      idempotency[Symbol.dispose]()
      await audit.close()
    },
  }
}

/** What pages may offer; all but the first depend on the configuration. */
const featuresOf = ({ mode, isolation }: AppDeps['info']): string[] => [
  'demo',
  ...(isolation.level === 'none' ? [] : ['sandbox']),
  ...(mode === 'shared' ? ['shared'] : []),
]
