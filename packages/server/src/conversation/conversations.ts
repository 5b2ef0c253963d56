/** The interface of the engine: conversations by id, commands in, events out. Every call is made on behalf of an actor. */
import type {
  AgentBase,
  AgentDefinition,
  ClientToolSpec,
  CompletionFile,
  ConfirmationPolicy,
  ConversationExecutionStatus,
  ConversationId,
  ConversationInfo,
  ConversationProgress,
  ConversationUsage,
  DeletedWorkspace,
  EventId,
  EventOutline,
  ForkFiles,
  GitProvider,
  HookConfig,
  ImageContent,
  LLMCompletionLogEvent,
  LaunchedAgentProfile,
  LLM,
  PluginSource,
  RemoteWorkspace,
  SecurityAnalyzer,
  StoredEvent,
  TextContent,
  WaitingApprovals,
} from '@parley/protocol'
import type { Recording } from '../agent/index.ts'
import type { ConversationSort, EventFilter, OutlineRange, Role, WorkspaceChoice } from '../storage/index.ts'
import type { ConversationTrigger, Correlation, SecretSources, SubAgentOrigin } from './record/record.ts'
import type { LlmDelta } from '../llm/index.ts'
import type { ClientResult } from '../tools/index.ts'
import type { Exposure } from '../secrets/index.ts'

/** The user, role and key of a request. */
export type Actor = { user: string; role: Role; keyId: string }

/** The request to start a conversation, common to both forms of `POST /api/conversations`. */
export type StartRequest = {
  /** Absent: a new UUID. */
  conversation_id?: ConversationId
  agent: AgentBase
  /** Absent: `<data dir>/workspaces/<id>`. */
  working_dir?: string
  /** The agent server of the working directory; absent: this machine. */
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
  /** True when a conversation without a title makes one itself; default true. */
  autotitle?: boolean
  /** Stored profile whose model makes the title; absent: the agent's own model. */
  title_llm_profile?: string | null
  initial_message?: { content: (TextContent | ImageContent)[] } | null
  /** Cloned before the agent starts. `branch` null: a new branch. */
  repository?: { name: string; provider: GitProvider | null; branch: string | null } | null
  trigger?: ConversationTrigger | null
  /** Definitions of sub-agents in the request. */
  agent_definitions?: AgentDefinition[]
  /** Fetched and read before the agent starts. */
  plugins?: PluginSource[]
  /** Plugins that the user has installed for all conversations; those of the request follow them. */
  installed_plugins?: (PluginSource & { is_skill?: true })[]
  /** Kept with the conversation. */
  correlation?: Correlation
  /** Set for a sub-agent, by the engine only. */
  sub_agent?: SubAgentOrigin
  /** Origin of the agent. */
  launched_agent_profile?: LaunchedAgentProfile | null
  /** A worktree of the repository of `source`; `working_dir` is its path. */
  worktree?: { source: string; root: string } | null
  /** True: the files have checkpoints; false: they have none. Absent: they have, if the server creates the working directory. */
  checkpoints?: boolean
  /** Secrets of this conversation; they take precedence over the user's secrets of the same names. */
  secrets?: SecretSources
  /** Played back before any model is asked. */
  replay?: { recording: Recording; stopOnDivergence: boolean } | null
  /** True when an existing conversation of the same user with this id is accepted, whatever else the request contains. */
  finds_existing?: boolean
  /** Digest of the request, which distinguishes an identical retry from another request with the same id. */
  fingerprint: string
}

/** The answer to a batch. Each of the optional members binds it to one batch; without any, it means the pending one. */
export type ResponseToBatch = {
  kind: 'respond'
  accept: boolean
  reason: string
  batch_id?: string
  llm_response_id?: string
  /** The actions that were shown; set by the engine only. */
  action_ids?: readonly EventId[]
}

/** A request to change a conversation. Decided by a pure function, applied in the conversation's mailbox. */
export type Command =
  /**
   * `event_id`: chosen by the client; a repetition changes nothing. `message_id`: set by the engine only. Both are the id of the message.
   * `parent_event_id`: the message continues there, null: at the empty tree; the navigation and the message are one commit.
   */
  | {
      kind: 'send_message'
      content: (TextContent | ImageContent)[]
      run: boolean
      event_id?: EventId | undefined
      message_id?: EventId
      parent_event_id?: EventId | null | undefined
    }
  /** `batch_id` names the batch that the run approves. Absent: the pending one, if a client has received it. Null: none. */
  | { kind: 'run'; batch_id?: string | null }
  | { kind: 'pause' }
  | { kind: 'interrupt' }
  /** Shortens the view, between two steps if a run is active. Executes no tool; resolves when it is done (F47). */
  | { kind: 'condense' }
  /** Repeats a failed or stopped start. Does nothing for a conversation that is not stopped. */
  | { kind: 'start' }
  /** Interrupts, ends the conversation's processes, and rests until the conversation is started again. */
  | { kind: 'stop' }
  | ResponseToBatch
  /** `restore_files`: the files of the workspace become those of that event, too. `expected_leaf`: refused when the leaf is another one. */
  | {
      kind: 'navigate'
      event_id: EventId | null
      restore_files?: boolean
      expected_leaf?: string | null | undefined
    }
  | { kind: 'set_confirmation_policy'; policy: ConfirmationPolicy }
  | { kind: 'set_security_analyzer'; analyzer: SecurityAnalyzer | null }
  /** Works towards `objective` until the judge finds it reached, or `max_iterations` verdicts were given. */
  | { kind: 'start_goal'; objective: string; max_iterations: number }
  | { kind: 'stop_goal' }
  /** Resumes an interrupted goal. */
  | { kind: 'resume_goal' }
  /** Gives the agent another model from its next step on. */
  | { kind: 'switch_llm'; llm: LLM }
  /** Gives another model to an agent that chooses its own. */
  | { kind: 'switch_acp_model'; model: string }
  /** Adds secrets, or replaces those of the same names; a hidden value keeps the stored one. */
  | { kind: 'set_secrets'; secrets: SecretSources }
  /** The result of a call of a client's tool. */
  | { kind: 'client_result'; action_id: EventId; result: ClientResult }

/** The part of a conversation's record that a person may change. */
type ConversationChange = { title?: string | null; tags?: Record<string, string>; max_budget_per_task?: number }

type ConversationSearch = {
  status?: ConversationExecutionStatus
  sort_order: ConversationSort
  limit: number
  page_id?: ConversationId
}

/** `show` (the default): a client receives the result, and so the batch that waits. `decide`: only the server uses it. */
export type Purpose = 'show' | 'decide'

/** Query for the list that products show. */
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
  /** Only events from `first` to `last`, ascending; the other members but `filter` are then without effect. */
  range?: { first: number; last: number }
  /** Leaves out the phases of the start. */
  isForClients?: boolean
}

export type ForkRequest = {
  id?: ConversationId
  title?: string | null
  tags?: Record<string, string> | null
  reset_metrics: boolean
  from_event_id?: EventId | null
}

/** A request to a model and its answer, secrets masked, as members of the event that clients know. */
export type CompletionText = Pick<LLMCompletionLogEvent, 'filename' | 'log_data' | 'model_name' | 'usage_id'>

/** The shown part of an answer that is being written; `offset`: characters before `text`, which are not kept. */
export type PartialPart = { part: number; kind: 'content' | 'reasoning_content'; offset: number; text: string }
/** A call of an answer that is being written; `index` counts from 0. */
type PartialCall = { index: number; name: string; chars: number }

/** An item that a watcher receives. Stored events come in `seq` order, each exactly once; all other items are live only. */
export type WatchItem =
  | ({ kind: 'event' } & StoredEvent)
  /** `part` counts the parts of the answer from 0; `offset`: characters of the part before this piece. */
  | {
      kind: 'delta'
      delta: Pick<LlmDelta, 'content' | 'reasoning_content'>
      response_id: string
      part: number
      offset: number
    }
  /** A call whose arguments are being written: how many characters of them there are. */
  | ({ kind: 'tool_call'; response_id: string } & PartialCall)
  /** The answer that is being written, for a watcher that joins. */
  | { kind: 'partial'; response_id: string; parts: PartialPart[]; tool_calls: PartialCall[] }
  /** A piece of the output of a command that runs; `offset`: characters of its output before the piece. */
  | { kind: 'output'; action_id: EventId; stream: 'stdout' | 'stderr'; offset: number; text: string }
  /** Of a configuration with `log_completions`. */
  | { kind: 'completion'; completion: CompletionText }
  /** The whole state (agent-server-wire.md 2.4), secrets hidden: as the first item, and after each run, pause and interrupt. */
  /** `batch_id`: the batch that waits, when the state says that one does. */
  | { kind: 'snapshot'; seq: number; value: Record<string, unknown>; batch_id?: string }
  | { kind: 'deleted' }

/**
 * Yields the stored events after a seq, then live ones, without gaps or duplicates. It holds a cursor, not a queue: a reader that
 * does not pull costs nothing, and the events that it missed are read from the store.
 */
export interface Watcher extends AsyncDisposable {
  /** Returns at least one item, at most about `maxBytes` of event text; waits for the first. Rejects when the signal aborts, and with `unavailable` when another process has taken the conversation over. */
  next(maxBytes?: number): Promise<WatchItem[]>
}

/**
 * A change of a conversation of the user; `n` is the number to resume after. `lists`: changes may be missing before this one, so lists are to
 * be read again.
 */
export type FeedItem =
  | { kind: 'lists'; n: number }
  /** The first item of a reader that misses nothing. */
  | { kind: 'resumed'; n: number }
  | {
      kind: 'changed'
      n: number
      conversation_id: ConversationId
      /** The newest `seq`. */
      seq: number
      execution_status: ConversationExecutionStatus
      title: string | null
      /** Id of the batch that waits for a decision. */
      approval: string | null
      /** US dollars. */
      cost: number
      updated_at: string
      /** Set for a sub-agent. */
      parent_conversation_id: ConversationId | null
    }
  | { kind: 'deleted'; n: number; conversation_id: ConversationId }

export interface Feed extends Disposable {
  /** Returns at least one item, in the order of their numbers; waits for the first. Rejects when the signal aborts. */
  next(): Promise<FeedItem[]>
}

export interface Conversations {
  /**
   * Creates a conversation, or returns the one that an identical earlier request created.
   * @throws ParleyError `conflict` when the id belongs to another request.
   */
  start(request: StartRequest, actor: Actor): Promise<{ created: boolean; info: ConversationInfo }>
  /** @throws ParleyError `not_found`, also for another user's conversation. So does every call below. */
  info(id: ConversationId, actor: Actor, exposure?: Exposure, purpose?: Purpose): Promise<ConversationInfo>
  /** In the order of `ids`; null for unknown ones. */
  infos(ids: readonly ConversationId[], actor: Actor): Promise<(ConversationInfo | null)[]>
  /** Returns the progress as products show it, and resumes a start that a previous process left. */
  progress(id: ConversationId, actor: Actor, purpose?: Purpose): Promise<ConversationProgress>
  search(
    search: ConversationSearch,
    actor: Actor,
  ): Promise<{ items: ConversationInfo[]; next_page_id: ConversationId | null }>
  /** Newest first, as products show it. With filters a page may be short, or empty, and still have a next page. */
  list(
    search: ListSearch,
    actor: Actor,
  ): Promise<{ items: ConversationProgress[]; next_page_id: ConversationId | null }>
  /** The progress of conversations in the order of `ids`; null for unknown ones. Resumes nothing. */
  progresses(ids: readonly ConversationId[], actor: Actor): Promise<(ConversationProgress | null)[]>
  count(actor: Actor, status?: ConversationExecutionStatus): Promise<number>
  update(id: ConversationId, change: ConversationChange, actor: Actor): Promise<void>
  /** Resolves when its processes have ended. Returns what became of its workspace; `workspace`: default `auto`. */
  delete(id: ConversationId, actor: Actor, workspace?: WorkspaceChoice): Promise<DeletedWorkspace>
  /**
   * Resolves when the effect of the command is durable; a run continues in the background.
   * @throws ParleyError `conflict` (already running), `nothing_pending`, `not_found` (unknown event); a condensation also
   * `bad_request` without a condenser, and the refusal of its model.
   */
  send(id: ConversationId, command: Command, actor: Actor): Promise<void>
  /** Creates a conversation with the events of another one. `files`: whether it has a copy of the files. */
  fork(id: ConversationId, request: ForkRequest, actor: Actor): Promise<{ info: ConversationInfo; files: ForkFiles }>
  /**
   * Returns the agent's answer to a question that does not become part of the conversation; possible during a run.
   * @throws ParleyError `bad_request`, `rate_limited`, `unavailable`: the refusal of the model.
   */
  ask(id: ConversationId, question: string, actor: Actor, signal: AbortSignal): Promise<string>
  /** Text of the last finish or agent message on the active branch; empty when there is none. */
  finalResponse(id: ConversationId, actor: Actor): Promise<string>
  searchEvents(
    id: ConversationId,
    search: EventSearch,
    actor: Actor,
  ): Promise<{ items: StoredEvent[]; next_page_id: EventId | null }>
  /** Without the phases of the start. */
  countEvents(id: ConversationId, filter: EventFilter, actor: Actor): Promise<number>
  /** Kind, place, time and size of many events. */
  outline(id: ConversationId, range: OutlineRange, actor: Actor): Promise<EventOutline>
  event(id: ConversationId, event: EventId, actor: Actor): Promise<StoredEvent | null>
  /** The newest events whose text contains `text`, in any case, newest first. */
  find(
    id: ConversationId,
    sought: { text: string; kinds?: readonly string[]; limit: number },
    actor: Actor,
  ): Promise<{ seq: number; excerpt: string }[]>
  /** The batches that wait for a decision of the user, oldest first. */
  approvals(actor: Actor): Promise<WaitingApprovals>
  /** Totals, sums by model (null with `before`), and calls of models, newest first. `before`: a seq. */
  usage(id: ConversationId, page: { before?: number; limit: number }, actor: Actor): Promise<ConversationUsage>
  /** The files of its completion log, oldest first. Waits for those that are being written. */
  completions(id: ConversationId, actor: Actor): Promise<CompletionFile[]>
  /** The text of one of them; null for an unknown name. */
  completion(id: ConversationId, filename: string, actor: Actor): Promise<string | null>
  /** `after`: a seq (0 for everything), or `now` for live only. */
  watch(
    id: ConversationId,
    after: number | 'now',
    actor: Actor,
    signal: AbortSignal,
    purpose?: Purpose,
  ): Promise<Watcher>
  /** Follows all conversations of the actor after the change `after`; null: from now on. */
  feed(actor: Actor, after: number | null, signal: AbortSignal): Feed
  /** Milliseconds since the last command or commit of any conversation. */
  idleMs(): number
}
