/** Secrets of one conversation together with its owner's. Source: agent-core.md 7.1 to 7.3, F20. */
import {
  relocate,
  type AgentBase,
  type Place,
  type RequestedSecrets,
  type SecretSource,
  type StartConversationRequest,
} from '@parley/protocol'
import type { Cipher } from '../secrets/index.ts'
import type { CommandSecrets } from './command-secrets.ts'
import { openConversationSecrets, type ConversationSecrets } from './conversation-secrets.ts'
import type { LookupDeps } from './lookup.ts'
import { placeInAgent, type AgentMember } from './profiles/launch.ts'

type Sources = Readonly<Record<string, SecretSource>>

export type ConversationSecretAccess = {
  /** Secrets of a user's start request; its own names take precedence over those of its agent's context. `from`: the member that describes the agent. @throws ParleyError `invalid_input`. */
  ofStart(
    user: string,
    body: Pick<StartConversationRequest, 'secrets' | 'secrets_encrypted'>,
    agent: Pick<AgentBase, 'agent_context'>,
    from: AgentMember,
  ): Record<string, SecretSource>
  /** Secrets for an agent's commands, and their names for the model; the conversation's take precedence over its owner's. */
  ofAgent(owner: string, sources: () => Sources): Promise<AgentSecrets>
  /** Secret values of a conversation besides its owner's. `retired`: values that were replaced or removed. */
  valuesOf(record: { secrets?: Sources; retired?: { secrets: Record<string, string> } }): string[]
  /** Sets the address of this server, which secret look-ups must not request. */
  listensAt(url: string): void
  own: ConversationSecrets
}

type AgentSecrets = {
  secrets: { name: string; description: string | null }[]
  secretsFor: (text: string) => Promise<Record<string, string>>
  /** A command that named these secrets failed; looked-up values may be out of date. */
  secretsFailed: (text: string) => void
}

export type ConversationSecretAccessDeps = Pick<LookupDeps, 'hosts' | 'clock' | 'log'> & {
  cipher: Cipher
  commandSecrets: Pick<CommandSecrets, 'names' | 'secretsFor'>
}

export function openConversationSecretAccess(deps: ConversationSecretAccessDeps): ConversationSecretAccess {
  const { cipher, commandSecrets, hosts, clock, log } = deps
  let ownUrl: string | null = null
  const own = openConversationSecrets({ hosts, clock, ownUrl: () => ownUrl, log })
  return {
    own,

    ofStart: (user, { secrets, secrets_encrypted }, agent, from) => {
      const tokens = secrets_encrypted ? cipher.tokensOf(user) : undefined
      const context: RequestedSecrets = agent.agent_context?.secrets ?? {}
      const placeOf = (at: Place): Place =>
        at[0] !== undefined && Object.hasOwn(secrets, at[0])
          ? ['secrets', ...at]
          : placeInAgent(from, ['agent_context', 'secrets', ...at])
      return relocate(placeOf, () => own.accept({ ...context, ...secrets }, tokens))
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
