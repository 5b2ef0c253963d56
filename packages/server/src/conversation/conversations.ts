/** The heart as the edges see it: conversations by id, commands in, events out. Every call is on behalf of an actor. */
import type {
  AgentBase,
  AgentDefinition,
  ClientToolSpec,
  ConfirmationPolicy,
  ConversationExecutionStatus,
  ConversationId,
  ConversationInfo,
  ConversationProgress,
  EventId,
  GitProvider,
  HookConfig,
  ImageContent,
  LaunchedAgentProfile,
  LLM,
  PluginSource,
  RemoteWorkspace,
  SecurityAnalyzer,
  StoredEvent,
  TextContent,
} from '@parley/protocol'
import type { Recording } from '../agent/index.ts'
import type { ConversationSort, EventFilter, Role } from '../storage/index.ts'
import type { ConversationTrigger, Correlation, SecretSources, SubAgentOrigin } from './record/record.ts'
import type { LlmDelta } from '../llm/index.ts'
import type { ClientResult } from '../tools/index.ts'
import type { Exposure } from '../secrets/index.ts'

/** Who asks: made by the edge from a request's key. */
export type Actor = { user: string; role: Role; keyId: string }

/** What both dialects of `POST /api/conversations` come down to. */
export type StartRequest = {
  /** Absent: a new UUID. */
  conversation_id?: ConversationId
  agent: AgentBase
  /** Absent: `<data dir>/workspaces/<id>`. */
  working_dir?: string
  /** The agent server that the working directory is on; absent: this machine. */
  remote?: RemoteWorkspace | null
  confirmation_policy?: ConfirmationPolicy
  security_analyzer?: SecurityAnalyzer | null
  max_iterations?: number
  max_budget_per_task?: number | null
  stuck_detection?: boolean
  hook_config?: HookConfig | null
  tags?: Record<string, string>
  client_tools?: ClientToolSpec[]
  parent_conversation_id?: ConversationId | null
  title?: string | null
  /** Whether a conversation without a title gives itself one; default true. */
  autotitle?: boolean
  /** A stored profile whose model makes the title; absent: the agent's own. */
  title_llm_profile?: string | null
  initial_message?: { content: (TextContent | ImageContent)[] } | null
  /** Cloned before the agent starts. `branch` null: a fresh one. */
  repository?: { name: string; provider: GitProvider | null; branch: string | null } | null
  trigger?: ConversationTrigger | null
  /** Sub-agents that the request describes. */
  agent_definitions?: AgentDefinition[]
  /** Fetched and read before the agent starts. */
  plugins?: PluginSource[]
  /** Kept with the conversation. */
  correlation?: Correlation
  /** Set for a sub-agent, by the heart alone. */
  sub_agent?: SubAgentOrigin
  /** Where the agent came from. */
  launched_agent_profile?: LaunchedAgentProfile | null
  /** A worktree of the repository that `source` is in; `working_dir` is where it is going to be. */
  worktree?: { source: string; root: string } | null
  /** Of this conversation alone; they go before the user's own of the same names. */
  secrets?: SecretSources
  /** Played before any model is asked. */
  replay?: { recording: Recording; stopOnDivergence: boolean } | null
  /** Whether a conversation of the same user that has this id already is what was asked for, whatever else the request says. */
  finds_existing?: boolean
  /** What the request said, for telling an identical retry from another request with the same id. */
  fingerprint: string
}

/** A wish from outside. Decided by a pure function, applied in the conversation's mailbox. */
export type Command =
  /** `message_id`: said at most once under this id, by the heart alone. */
  | { kind: 'send_message'; content: (TextContent | ImageContent)[]; run: boolean; message_id?: EventId }
  | { kind: 'run' }
  | { kind: 'pause' }
  | { kind: 'interrupt' }
  /** Makes the view shorter now, between two steps of a run if one goes on. Performs nothing; resolves when it is done (F47). */
  | { kind: 'condense' }
  /** Takes a start that failed, or that was stopped, up again. Nothing when there is none. */
  | { kind: 'start' }
  /** Interrupts, ends the conversation's processes, and rests until something starts it again. */
  | { kind: 'stop' }
  /** `llm_response_id` binds the answer to one batch; absent: the one that waits now. */
  | { kind: 'respond'; accept: boolean; reason: string; llm_response_id?: string }
  | { kind: 'navigate'; event_id: EventId | null }
  | { kind: 'set_confirmation_policy'; policy: ConfirmationPolicy }
  | { kind: 'set_security_analyzer'; analyzer: SecurityAnalyzer | null }
  /** Works towards `objective` until a judge is content, or `max_iterations` verdicts were given. */
  | { kind: 'start_goal'; objective: string; max_iterations: number }
  | { kind: 'stop_goal' }
  /** Takes up a goal that was interrupted. */
  | { kind: 'resume_goal' }
  /** Another model for the agent, from its next step on. */
  | { kind: 'switch_llm'; llm: LLM }
  /** Another model for an agent that chooses its own. */
  | { kind: 'switch_acp_model'; model: string }
  /** Adds secrets, or replaces those of the same names; a hidden value keeps the one that is stored. */
  | { kind: 'set_secrets'; secrets: SecretSources }
  /** What a client made of a call of one of its tools. */
  | { kind: 'client_result'; action_id: EventId; result: ClientResult }

/** What a person may change of a conversation's record. */
export type ConversationChange = { title?: string | null; tags?: Record<string, string>; max_budget_per_task?: number }

export type ConversationSearch = {
  status?: ConversationExecutionStatus
  sort_order: ConversationSort
  limit: number
  page_id?: ConversationId
}

/** A page of the list that products read. */
export type ListSearch = {
  limit: number
  page_id?: ConversationId
  selected_repository?: string
  trigger?: string
  include_sub_conversations: boolean
}

export type EventSearch = {
  filter: EventFilter
  order: 'asc' | 'desc'
  limit: number
  /** Id of the first event of the page. */
  page_id?: EventId
  /** Only events after this seq (ascending) or before it (descending). */
  seq?: number
}

export type ForkRequest = {
  id?: ConversationId
  title?: string | null
  tags?: Record<string, string> | null
  reset_metrics: boolean
  from_event_id?: EventId | null
}

/** What a watcher receives. Stored events come in `seq` order, each exactly once; the rest is live only. */
export type WatchItem =
  | ({ kind: 'event' } & StoredEvent)
  | { kind: 'delta'; delta: LlmDelta }
  /** The state as a whole (agent-server-wire.md 2.4), secrets hidden: first of all, after each run, pause and interrupt. */
  | { kind: 'snapshot'; seq: number; value: Record<string, unknown> }
  | { kind: 'deleted' }

/**
 * Pulls stored events after a seq, then live ones, without gap or double. Holds a cursor, not a queue: a reader that
 * does not pull costs nothing, and what it missed is read back from the store.
 */
export interface Watcher extends AsyncDisposable {
  /** At least one item, at most about `maxBytes` of event text; waits when there is nothing. Rejects when the signal aborts. */
  next(maxBytes?: number): Promise<WatchItem[]>
}

export interface Conversations {
  /**
   * Creates a conversation, or finds the one that an identical earlier request made.
   * @throws ParleyError `conflict` when the id is taken by another request.
   */
  start(request: StartRequest, actor: Actor): Promise<{ created: boolean; info: ConversationInfo }>
  /** @throws ParleyError `not_found`, also for another user's. So does every call below. */
  info(id: ConversationId, actor: Actor, exposure?: Exposure): Promise<ConversationInfo>
  /** In the order asked; null for unknown ones. */
  infos(ids: readonly ConversationId[], actor: Actor): Promise<(ConversationInfo | null)[]>
  /** In the product's words; a start that nobody works on goes on. */
  progress(id: ConversationId, actor: Actor): Promise<ConversationProgress>
  search(
    search: ConversationSearch,
    actor: Actor,
  ): Promise<{ items: ConversationInfo[]; next_page_id: ConversationId | null }>
  /** Newest first, in the product's words. With filters a page may be short, or empty, and still name a next one. */
  list(
    search: ListSearch,
    actor: Actor,
  ): Promise<{ items: ConversationProgress[]; next_page_id: ConversationId | null }>
  /** In the product's words, in the order asked; null for unknown ones. Starts nothing. */
  progresses(ids: readonly ConversationId[], actor: Actor): Promise<(ConversationProgress | null)[]>
  count(actor: Actor, status?: ConversationExecutionStatus): Promise<number>
  update(id: ConversationId, change: ConversationChange, actor: Actor): Promise<void>
  delete(id: ConversationId, actor: Actor): Promise<void>
  /**
   * Resolves when what the command says is durable; a run goes on in the background.
   * @throws ParleyError `conflict` (already running), `nothing_pending`, `not_found` (unknown event); a condensation also
   * `bad_request` without a condenser, and what its model refuses.
   */
  send(id: ConversationId, command: Command, actor: Actor): Promise<void>
  fork(id: ConversationId, request: ForkRequest, actor: Actor): Promise<ConversationInfo>
  /**
   * The agent's answer to a question that does not become part of the conversation; also while it runs.
   * @throws ParleyError `bad_request`, `rate_limited`, `unavailable`: what the model refuses.
   */
  ask(id: ConversationId, question: string, actor: Actor, signal: AbortSignal): Promise<string>
  /** Text of the last finish or agent message on the active branch; empty when there is none. */
  finalResponse(id: ConversationId, actor: Actor): Promise<string>
  searchEvents(
    id: ConversationId,
    search: EventSearch,
    actor: Actor,
  ): Promise<{ items: StoredEvent[]; next_page_id: EventId | null }>
  countEvents(id: ConversationId, filter: EventFilter, actor: Actor): Promise<number>
  event(id: ConversationId, event: EventId, actor: Actor): Promise<StoredEvent | null>
  /** `after`: a seq (0 for everything), or `now` for live only. */
  watch(id: ConversationId, after: number | 'now', actor: Actor, signal: AbortSignal): Promise<Watcher>
  /** Milliseconds since the last command or commit of any conversation. */
  idleMs(): number
}
