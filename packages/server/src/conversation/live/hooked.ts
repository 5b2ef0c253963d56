/** What a conversation asks its hooks, and what their answers become. Source: agent-core.md 5.4; F14, F32, F65. */
import {
  newEventId,
  textContent,
  type ConversationState,
  type Draft,
  type EventId,
  type HookConfig,
} from '@parley/protocol'
import { hasHooks, mergeHooks, type Hooks, type Loaded } from '../../hooks/index.ts'
import { serviceMessage, userMessage } from '../drafts.ts'
import type { ConversationRecord, MessageContent } from '../record/record.ts'
import type { Starting } from '../start/phases/index.ts'

/** The hooks of one conversation, where it works. */
export type SessionHooks = Hooks & {
  /** What the project brings along, as far as it is trusted. */
  project(signal: AbortSignal): Promise<Loaded>
}

/** Opens them without starting anything. `current`: the record as it is whenever it is asked for, its model too. */
export type OpenHooks = (
  starting: Starting & { current: () => ConversationRecord },
  signal: AbortSignal,
) => Promise<SessionHooks>

/** A message that hooks have looked at. */
export type Submission = { message: Draft & { id: EventId }; drafts: readonly Draft[]; blocked: string | null }

/** How a session begins. `drafts` go before the first message. */
export type Beginning = { config: HookConfig | null; drafts: readonly Draft[]; detail: string | null }

export type HookedHost = {
  open: () => Promise<SessionHooks>
  state: () => ConversationState
  record: () => ConversationRecord
}

const END_REASONS: Partial<Record<ConversationState['execution_status'], string>> = {
  finished: 'agent_finished',
  stuck: 'agent_stuck',
  error: 'agent_limit',
}

/** The hooks of one conversation from its start to its stop. Nothing is opened for a conversation without any. */
export class Hooked {
  readonly #host: HookedHost
  #hooks: Promise<SessionHooks> | null = null

  constructor(host: HookedHost) {
    this.#host = host
  }

  /** Whether messages are looked at before they are taken. */
  get looksAtMessages(): boolean {
    return hasHooks(this.#host.state().hook_config, 'UserPromptSubmit')
  }

  /** Hooks of plugins come after those of the request; the project's own come last, and only where a repository was cloned for the conversation. */
  async begin(signal: AbortSignal): Promise<Beginning> {
    const own = this.#host.state().hook_config
    const isCloned = (this.#host.record().repository ?? null) !== null
    const { config: brought, detail } = isCloned
      ? await (await this.#open()).project(signal)
      : { config: null, detail: null }
    const attached = this.#host.record().loaded?.hooks ?? null
    const config = mergeHooks(mergeHooks(own, attached), brought)
    const drafts: Draft[] =
      brought === null && attached === null
        ? []
        : [{ kind: 'StateChangedEvent', source: 'environment', key: 'hook_config', value: config }]
    if (!hasHooks(config, 'SessionStart')) return { config, drafts, detail }
    const said = await (await this.#open()).sessionStart({ hook_config: config }, signal)
    return { config, drafts: [...drafts, ...said.drafts], detail }
  }

  /**
   * Asks whether a message may be said. It keeps the id that the hooks were told, blocked or not.
   * @param sender of a message that no person sends
   */
  async submit(
    content: MessageContent,
    config: HookConfig | null,
    signal: AbortSignal,
    sender: string | null = null,
  ): Promise<Submission> {
    const message = { ...userMessage(content), sender, id: newEventId() }
    if (!hasHooks(config, 'UserPromptSubmit')) return { message, drafts: [], blocked: null }
    const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    const asked = { id: message.id, text }
    const { drafts, blocked, context } = await (await this.#open()).submit(asked, { hook_config: config }, signal)
    if (blocked !== null || context === null) return { message, drafts, blocked }
    return { message: { ...message, extended_content: [textContent(context)] }, drafts, blocked }
  }

  /**
   * Tells that the agent has come to its end, and asks whether it may: only a finish can be denied, a limit cannot.
   * Null when nobody is to be told.
   */
  async stop(
    status: ConversationState['execution_status'],
    signal: AbortSignal,
  ): Promise<{ drafts: Draft[]; isDenied: boolean } | null> {
    const state = this.#host.state()
    const reason = END_REASONS[status]
    if (state.execution_status !== 'running' || reason === undefined || !hasHooks(state.hook_config, 'Stop'))
      return null
    // A run for a message that was blocked has done nothing that could be denied.
    if (Object.hasOwn(state.blocked_messages, state.last_user_message_id ?? '')) return null
    const { drafts, blocked, context } = await (await this.#open()).stop(reason, state, signal)
    if (blocked === null || status !== 'finished') return { drafts, isDenied: false }
    return { drafts: [...drafts, serviceMessage(`[Stop hook feedback] ${context ?? blocked}`)], isDenied: true }
  }

  /** The session is over: after its hooks nothing of it runs any more. */
  async end(signal: AbortSignal): Promise<readonly Draft[]> {
    const { hook_config } = this.#host.state()
    if (this.#hooks === null && !hasHooks(hook_config, 'SessionEnd')) return []
    const hooks = await this.#open()
    const { drafts } = await hooks.sessionEnd({ hook_config }, signal)
    await this.close()
    return drafts
  }

  /** Lets go of what was opened; a session that goes on later opens it again. */
  async close(): Promise<void> {
    const hooks = await this.#hooks?.catch(() => null)
    this.#hooks = null
    await hooks?.[Symbol.asyncDispose]()
  }

  #open(): Promise<SessionHooks> {
    this.#hooks ??= this.#host.open().catch((error: unknown) => {
      this.#hooks = null
      throw error
    })
    return this.#hooks
  }
}

/** Forgets the blocks of actions that get another answer than the hook's; nothing when there are none. */
export function withoutBlocks(
  { blocked_actions }: Pick<ConversationState, 'blocked_actions'>,
  ids: readonly EventId[],
): Draft[] {
  if (!ids.some((id) => Object.hasOwn(blocked_actions, id))) return []
  const value = Object.fromEntries(Object.entries(blocked_actions).filter(([id]) => !ids.some((each) => each === id)))
  return [{ kind: 'StateChangedEvent', source: 'environment', key: 'blocked_actions', value }]
}

/** Messages as they are stored: what hooks did, what is blocked, and only then the message, so that no fold takes it up. */
export function submitted(
  { blocked_messages }: Pick<ConversationState, 'blocked_messages'>,
  submissions: readonly Submission[],
): Draft[] {
  let value = blocked_messages
  return submissions.flatMap(({ message, drafts, blocked }): Draft[] => {
    if (blocked === null) return [...drafts, message]
    value = { ...value, [message.id]: blocked }
    return [...drafts, { kind: 'StateChangedEvent', source: 'environment', key: 'blocked_messages', value }, message]
  })
}
