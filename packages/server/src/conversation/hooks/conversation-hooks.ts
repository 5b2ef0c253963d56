/** The hooks of a conversation, and the drafts that their results become. Source: agent-core.md 5.4; F14, F32, F65. */
import {
  newEventId,
  textContent,
  textOf,
  type ConversationState,
  type Draft,
  type EventId,
  type HookConfig,
} from '@parley/protocol'
import { hasHooks, mergeHooks, type Hooks, type LoadedHooks } from '../../hooks/index.ts'
import { serviceMessage, userMessage } from '../drafts.ts'
import type { LiveReader, ModelUser } from '../live-access.ts'
import type { ConversationRecord, MessageContent, OwnedConversation } from '../record/record.ts'
import type { SessionBeginning, Submission } from '../submission.ts'

/** The hooks of one conversation, in its workspace. */
export type SessionHooks = Hooks & {
  /** The hooks of the project itself, as far as it is trusted. */
  project(signal: AbortSignal): Promise<LoadedHooks>
}

type OpenedFor = Pick<OwnedConversation, 'epoch' | 'record'> &
  ModelUser & {
    /** Returns the record, and so the model, of the moment of the call. */
    current: () => ConversationRecord
  }

/** Opens the hooks without starting anything. */
export type OpenHooks = (conversation: OpenedFor, signal: AbortSignal) => Promise<SessionHooks>

type Live = Pick<LiveReader, 'id' | 'owner' | 'epoch' | 'state' | 'record' | 'hasBudget' | 'note' | 'logCompletion'>

const END_REASONS: Partial<Record<ConversationState['execution_status'], string>> = {
  finished: 'agent_finished',
  stuck: 'agent_stuck',
  error: 'agent_limit',
}

/** The hooks of one conversation from its start to its stop. A conversation without hooks opens nothing. */
export class ConversationHooks {
  readonly #live: Live
  readonly #openHooks: OpenHooks
  #hooks: Promise<SessionHooks> | null = null

  constructor(live: Live, openHooks: OpenHooks) {
    this.#live = live
    this.#openHooks = openHooks
  }

  /** True when hooks inspect messages before these are accepted. */
  get inspectsMessages(): boolean {
    return hasHooks(this.#live.state().hook_config, 'UserPromptSubmit')
  }

  /**
   * Starts the session. The hooks of the request come first, then those of plugins, then those of the project, which count
   * only where a repository was cloned for the conversation.
   */
  async begin(signal: AbortSignal): Promise<SessionBeginning> {
    const own = this.#live.state().hook_config
    const { repository = null, loaded } = this.#live.record()
    const { config: project, detail } =
      repository === null ? { config: null, detail: null } : await (await this.#open()).project(signal)
    const attached = loaded?.hooks ?? null
    const config = mergeHooks(mergeHooks(own, attached), project)
    const drafts: Draft[] =
      project === null && attached === null
        ? []
        : [{ kind: 'StateChangedEvent', source: 'environment', key: 'hook_config', value: config }]
    if (!hasHooks(config, 'SessionStart')) return { config, drafts, detail }
    const result = await (await this.#open()).sessionStart({ hook_config: config }, signal)
    return { config, drafts: [...drafts, ...result.drafts], detail }
  }

  /**
   * Runs the hooks on a message. The message keeps the id that the hooks received, blocked or not.
   * @param sender set for a message that no person sends
   */
  async submit(
    content: MessageContent,
    config: HookConfig | null,
    signal: AbortSignal,
    { sender = null, id = newEventId() }: { sender?: string | null; id?: EventId | undefined } = {},
  ): Promise<Submission> {
    const message = { ...userMessage(content), sender, id }
    if (!hasHooks(config, 'UserPromptSubmit')) return { message, drafts: [], blocked: null }
    const prompt = { id: message.id, text: textOf(content) }
    const { drafts, blocked, context } = await (await this.#open()).submit(prompt, { hook_config: config }, signal)
    if (blocked !== null || context === null) return { message, drafts, blocked }
    return { message: { ...message, extended_content: [textContent(context)] }, drafts, blocked }
  }

  /**
   * Runs the hooks at the end of a run. They can deny a finish, never a limit. Null when no hook applies.
   */
  async stop(
    status: ConversationState['execution_status'],
    signal: AbortSignal,
  ): Promise<{ drafts: Draft[]; isDenied: boolean } | null> {
    const state = this.#live.state()
    const reason = END_REASONS[status]
    if (state.execution_status !== 'running' || reason === undefined || !hasHooks(state.hook_config, 'Stop'))
      return null
    // A run for a message that was blocked has done nothing that could be denied.
    if (Object.hasOwn(state.blocked_messages, state.last_user_message_id ?? '')) return null
    const { drafts, blocked, context } = await (await this.#open()).stop(reason, state, signal)
    if (blocked === null || status !== 'finished') return { drafts, isDenied: false }
    return { drafts: [...drafts, serviceMessage(`[Stop hook feedback] ${context ?? blocked}`)], isDenied: true }
  }

  /** Ends the session: runs its hooks, then closes them. */
  async end(signal: AbortSignal): Promise<readonly Draft[]> {
    const { hook_config } = this.#live.state()
    if (this.#hooks === null && !hasHooks(hook_config, 'SessionEnd')) return []
    const hooks = await this.#open()
    const { drafts } = await hooks.sessionEnd({ hook_config }, signal)
    await this.close()
    return drafts
  }

  /** Closes the hooks; a session that continues later opens them again. */
  async close(): Promise<void> {
    const hooks = await this.#hooks?.catch(() => null)
    this.#hooks = null
    await hooks?.[Symbol.asyncDispose]()
  }

  #open(): Promise<SessionHooks> {
    this.#hooks ??= this.#load().catch((error: unknown) => {
      this.#hooks = null
      throw error
    })
    return this.#hooks
  }

  async #load(): Promise<SessionHooks> {
    const { id, owner, epoch, record, hasBudget, note, logCompletion } = this.#live
    const opening = { id, owner, epoch, record: record(), current: record, hasBudget, note, logCompletion }
    return this.#openHooks(opening, new AbortController().signal)
  }
}
