/** Joins the heart and everything beside it to the edge that takes requests. */
import { expectAgent } from './agent-checks.ts'
import type { Config } from '../config/index.ts'
import { fromAgentServer, fromSeed, withReceived, type Actor, type Heart } from '../conversation/index.ts'
import { openHooksOf } from './hooking.ts'
import { createApp, type App } from '../http/index.ts'
import type { JoinedMachine } from './machine.ts'
import type { Log } from '../observability/index.ts'
import type { Cipher } from '../secrets/index.ts'
import {
  conversationDefaults,
  DEFAULT_USER,
  type FindLlm,
  type Identities,
  type NamedSecrets,
  type UserSettings,
} from '../settings/index.ts'
import { openSkillsOf } from './skilling.ts'
import { joinGateway, joinSteering, type JoinedSecrets } from './steering.ts'
import type { Storage } from '../storage/index.ts'
import { toolNames } from '../tools/index.ts'
import type { Isolation } from '../workspace/index.ts'

export type EdgeParts = {
  config: Config
  log: Log
  heart: Heart
  storage: Storage
  cipher: Cipher
  identities: Identities
  settings: UserSettings
  secrets: NamedSecrets
  ownSecrets: JoinedSecrets
  findLlm: FindLlm
  machine: JoinedMachine
  isolation: Isolation
}

/** The server's edge; it does not listen yet. */
export function joinEdge(parts: EdgeParts): App {
  const { config, heart, storage, cipher, identities, settings, secrets } = parts
  const { ownSecrets, findLlm, machine, isolation, log } = parts
  const anyone: Actor = { user: DEFAULT_USER, role: 'admin', keyId: 'none' }
  const conversations = withReceived(heart, { storage, cipher, now: () => new Date() })
  return createApp({
    conversations,
    receiver: conversations,
    deliveries: storage.outbox,
    keys: identities,
    audit: storage.audit,
    rateLimitPerMinute: config.rateLimitPerMinute,
    authenticate: (key) => identities.authenticate(key),
    settings,
    secrets,
    startFromSeed: async (body, actor, options) => {
      const request = fromSeed(body, conversationDefaults(await settings.current(actor.user), config), options)
      return heart.start(request, actor)
    },
    machine: machine.machine,
    skillsOf: openSkillsOf({ hosts: machine.machine.hosts, home: config.home, log }),
    hooksOf: openHooksOf({ hosts: machine.machine.hosts, trusted: config.trustedHooks, log }),
    steering: joinSteering(ownSecrets, findLlm, cipher),
    gateway: joinGateway({ config, conversations: heart, settings, profiles: machine.machine.profiles, findLlm }),
    startFromAgentServer: async (body, actor) => {
      // One that is there already is what was asked for; nothing else of the body counts. Source: agent-server-wire.md 1.4.
      const [known] = body.conversation_id === null ? [] : await heart.infos([body.conversation_id], actor)
      if (known) return { created: false, info: known }
      const resolved = await machine.resolve(actor.user, body)
      const request = fromAgentServer(body, { ...resolved, secrets: ownSecrets.ofStart(body, resolved.agent) })
      await expectAgent(request.agent, request.client_tools ?? [], config.dataDir)
      return heart.start(request, actor)
    },
    info: { usableTools: toolNames(), isolation: { level: isolation.level, network: isolation.network } },
    corsOrigins: config.corsOrigins,
    hostNames: [config.host, ...config.publicHosts],
    takesKeyInUrl: config.socketKeyInUrl,
    bodyLimitBytes: config.bodyLimitBytes,
    log,
    ...(config.withoutKeys ? { noKeys: anyone } : {}),
  })
}
