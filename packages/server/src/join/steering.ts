/** Joins what steers a conversation from outside its messages: its own secrets, and the models that it may be given. */
import {
  InitSessionRequest,
  ParleyError,
  type AgentBase,
  type LLM,
  type RequestedSecrets,
  type SecretSource,
  type StartConversationRequest,
} from '@parley/protocol'
import { withLlm } from '../agent/index.ts'
import type { Config } from '../config/index.ts'
import { fromSeed, type ConversationRecord, type Conversations } from '../conversation/index.ts'
import type { Gateway, Steering } from '../http/index.ts'
import type { Log } from '../observability/index.ts'
import type { Cipher } from '../secrets/index.ts'
import {
  conversationDefaults,
  openConversationSecrets,
  openedLlm,
  type CommandSecrets,
  type ConversationSecrets,
  type FindLlm,
  type LlmProfiles,
  type UserSettings,
} from '../settings/index.ts'

type Sources = Readonly<Record<string, SecretSource>>

export type JoinedSecrets = {
  /** Secrets of a start request: those that it names go before those of its agent's context. @throws ParleyError `invalid_input`. */
  ofStart(
    body: Pick<StartConversationRequest, 'secrets' | 'secrets_encrypted'>,
    agent: AgentBase,
  ): Record<string, SecretSource>
  /** What an agent's commands get, and what it is told: the conversation's own before its owner's. */
  ofAgent(owner: string, sources: () => Sources): Promise<AgentSecrets>
  /** Values that a conversation has beside its owner's. */
  valuesOf(record: Pick<ConversationRecord, 'secrets' | 'retired'>): string[]
  /** The server listens here from now on. */
  listensAt(url: string): void
  own: ConversationSecrets
}

type AgentSecrets = {
  secrets: { name: string; description: string | null }[]
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** A command that named them failed: what was looked up may be old. */
  secretsFailed: (text: string) => void
}

type Parts = { config: Pick<Config, 'secretLookupHosts'>; cipher: Cipher; commandSecrets: CommandSecrets; log: Log }

export function joinSecrets({ config, cipher, commandSecrets, log }: Parts): JoinedSecrets {
  let ownUrl: string | null = null
  const own = openConversationSecrets({ cipher, hosts: config.secretLookupHosts, ownUrl: () => ownUrl, log })
  return {
    own,

    ofStart: ({ secrets, secrets_encrypted }, agent) => {
      const context: RequestedSecrets = agent.agent_context?.secrets ?? {}
      return own.accept({ ...context, ...secrets }, secrets_encrypted)
    },

    async ofAgent(owner, sources) {
      const mine = own.names(sources())
      const names = new Set(mine.map(({ name }) => name))
      const ofOwner = commandSecrets.secretsFor(owner)
      return {
        secrets: [...(await commandSecrets.names(owner)).filter(({ name }) => !names.has(name)), ...mine],
        secretsFor: async (text) => ({ ...(await ofOwner(text)), ...(await own.valuesFor(sources(), text)) }),
        secretsFailed: (text) => own.refresh(sources(), text),
      }
    },

    valuesOf: ({ secrets = {}, retired }) => [...own.known(secrets), ...Object.values(retired?.secrets ?? {})],

    listensAt: (url) => {
      ownUrl = url
    },
  }
}

/** What the edge asks before it sends a command. */
export function joinSteering(secrets: JoinedSecrets, findLlm: FindLlm, cipher: Cipher): Steering {
  return {
    acceptSecrets: (given) => secrets.own.accept(given),
    openedLlm: (llm: LLM) => openedLlm(llm, cipher),
    findLlm,
  }
}

type GatewayParts = {
  config: Pick<Config, 'llm' | 'searchUrl'>
  conversations: Pick<Conversations, 'start'>
  settings: Pick<UserSettings, 'current'>
  profiles: Pick<LlmProfiles, 'list'>
  findLlm: FindLlm
}

/** Conversations for programs that know only chat completions: as New Conversation starts them, with a profile's model. */
export function joinGateway({ config, conversations, settings, profiles, findLlm }: GatewayParts): Gateway {
  return {
    profiles: async (user) => (await profiles.list(user)).profiles.map(({ name }) => name),
    async start({ id, profile, content, instructions }, actor) {
      const llm = await findLlm(actor.user, profile)
      if (llm === null)
        throw new ParleyError('not_found', `Profile '${profile}' not found`, { details: { profile_name: profile } })
      const defaults = conversationDefaults(await settings.current(actor.user), config)
      const body = InitSessionRequest.parse({
        conversation_id: id,
        ...(instructions === null ? {} : { conversation_instructions: instructions }),
      })
      const request = fromSeed(body, defaults)
      const agent = request.agent.kind === 'Agent' ? withLlm(request.agent, llm) : request.agent
      return conversations.start({ ...request, agent, initial_message: { content } }, actor)
    },
  }
}
