/** What of a conversation does not come from events: written when it starts, changed rarely, sealed at rest. */
import type {
  AgentBase,
  AgentDefinition,
  BaseWorkspace,
  ClientToolSpec,
  ConversationId,
  EventId,
  GitProvider,
  HookConfig,
  ImageContent,
  LaunchedAgentProfile,
  PluginSource,
  RemoteWorkspace,
  SecretSource,
  StartConversationRequest,
  TextContent,
} from '@parley/protocol'
import { sealRecord, unsealRecord, type Cipher } from '../../secrets/index.ts'
import type { RecordedReplay } from '../trajectory/recordings.ts'

/** Secrets of one conversation by name. */
export type SecretSources = Readonly<Record<string, SecretSource>>

export type MessageContent = (TextContent | ImageContent)[]

export type ConversationRecord = {
  workspace: BaseWorkspace
  agent: AgentBase
  persistence_dir: string | null
  max_iterations: number
  max_budget_per_task: number | null
  stuck_detection: boolean
  title: string | null
  tags: Record<string, string>
  client_tools: ClientToolSpec[]
  parent_conversation_id: ConversationId | null
  forked_from_conversation_id: ConversationId | null
  forked_from_event_id: EventId | null
  launched_agent_profile: LaunchedAgentProfile | null
  /** What the creating request said; tells an identical retry from another request. */
  fingerprint: string
  /** Messages accepted before the start had ended, oldest first. They enter the log when it does. */
  pending_messages: MessageContent[]
  /** Absent in records of versions that knew none. */
  repository?: RepositoryChoice | null
  trigger?: ConversationTrigger | null
  worktree?: WorktreeChoice | null
  /** Whether a conversation without a title gives itself one; absent: yes. */
  autotitle?: boolean
  title_llm_profile?: string | null
  /** The recording that the conversation plays. */
  replay?: RecordedReplay | null
  secrets?: SecretSources
  /** Absent: the request said nothing of it. */
  correlation?: Correlation
  /** Plugins that the request attached, and what the start made of each. */
  plugins?: AttachedPlugin[]
  /** What the start added to the agent; null or absent: nothing yet. */
  loaded?: LoadedKnowledge | null
  /** Sub-agents that the request describes. */
  agent_definitions?: AgentDefinition[]
  /** Present in a conversation that a tool of another one started. */
  sub_agent?: SubAgentOrigin | null
  /** Values that secrets once had; still hidden wherever they turn up. The inner name is one that is sealed. */
  retired?: { secrets: Record<string, string> }
}

/** How whoever started a conversation finds it again in measurements of their own. Without effect here. */
export type Correlation = Pick<
  StartConversationRequest,
  'user_id' | 'observability_metadata' | 'observability_tags' | 'observability_span_name'
>

/** A plugin, and once it is there what it was at that moment. */
export type AttachedPlugin = PluginSource & {
  name: string | null
  /** Absolute path of its folder where the conversation works. */
  root: string | null
  /** The commit that a git source stood at. */
  resolved_ref: string | null
}

/** What the skills, plugins and notes of a conversation came to when it started. */
export type LoadedKnowledge = {
  /** Where skills came from that the request did not bring itself. */
  origins: Record<string, 'user' | 'project' | 'plugin'>
  /** The hooks of plugins; they come after those of the request. */
  hooks: HookConfig | null
  /** Notes of earlier sessions, for the system prompt alone. */
  memory: string | null
  /** False in a fork until its plugins are where they were in its source. */
  is_restored?: boolean
}

/** Where a sub-agent comes from. Its parent is `parent_conversation_id`. */
export type SubAgentOrigin = {
  tool: 'task' | 'delegate'
  /** Task id, or the id that the delegate was given. */
  name: string
  /** The definition that it was made of. */
  type: string
  /** 1 below a conversation that people started. */
  depth: number
  /** The call that made it. */
  call_id: string
}

/** A worktree of the repository that `source` is in, made below `root`. */
export type WorktreeChoice = {
  source: string
  root: string
  /** Null until it is made. */
  branch: string | null
}

export type ConversationTrigger = 'suggested_task' | 'microagent_management'

/** The repository that a conversation asked for, and what its start has made of it. */
export type RepositoryChoice = {
  /** In the spelling that came in, as all three. */
  name: string
  provider: GitProvider | null
  /** Null: a fresh branch. */
  branch: string | null
  /** Host and path, once it is cloned; the working directory is the clone then. */
  slug: string | null
  /** Variable from which the clone's credential helper takes the token. */
  token_variable: string | null
  /** The branch that the start checked out. */
  checked_out: string | null
  is_set_up: boolean
}

/** The agent server that a workspace is on; null: this machine. */
export const remoteOf = (workspace: BaseWorkspace): RemoteWorkspace | null =>
  workspace.kind === 'RemoteWorkspace' ? workspace : null

/** As text for the store, secrets sealed; messages that wait too, because nothing has hidden secrets in them yet. */
export function writeRecord(record: ConversationRecord, cipher: Cipher): string {
  const { pending_messages } = record
  const kept = pending_messages.length === 0 ? [] : cipher.seal(JSON.stringify(pending_messages))
  return JSON.stringify(sealRecord({ ...record, pending_messages: kept }, cipher))
}

/** @throws ParleyError `unavailable` when the server's key does not open it. */
export function readRecord(text: string, cipher: Cipher): ConversationRecord {
  const record = unsealRecord(JSON.parse(text), cipher) as ConversationRecord & { pending_messages: unknown }
  if (typeof record.pending_messages !== 'string') return record
  return { ...record, pending_messages: JSON.parse(cipher.open(record.pending_messages)) as MessageContent[] }
}
