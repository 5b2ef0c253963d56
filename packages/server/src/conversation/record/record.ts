/** The part of a conversation that does not come from events: written at the start, changed rarely, encrypted at rest. */
import type {
  AgentBase,
  AgentDefinition,
  BaseWorkspace,
  ClientToolSpec,
  ConversationId,
  Draft,
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
import type { MaskedSecrets } from '../../storage/index.ts'
import type { WorkspaceSpec } from '../../workspace/index.ts'
import type { RecordedReplay } from './recordings.ts'

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
  /** Digest of the creating request; distinguishes an identical retry from another request. */
  fingerprint: string
  /** Messages accepted before the start had ended, oldest first. They enter the log when it does. */
  pending_messages: MessageContent[]
  /** The id that a client has chosen for each of them; null: none. Absent in records of older versions. */
  pending_ids?: (EventId | null)[]
  /** Absent in records of older versions. */
  repository?: RepositoryChoice | null
  trigger?: ConversationTrigger | null
  worktree?: WorktreeChoice | null
  /** True: the files have checkpoints; false: they have none. Absent: they have, if the server created the working directory. */
  checkpoints?: boolean
  /** False when a conversation without a title makes none itself; absent: true. */
  autotitle?: boolean
  title_llm_profile?: string | null
  /** The recording that the conversation plays. */
  replay?: RecordedReplay | null
  secrets?: SecretSources
  /** Absent when the request contained none. */
  correlation?: Correlation
  /** Plugins that the request attached, with the result of the start for each. */
  plugins?: AttachedPlugin[]
  /** Additions of the start to the agent; null or absent: none yet. */
  loaded?: LoadedKnowledge | null
  /** Definitions of sub-agents in the request. */
  agent_definitions?: AgentDefinition[]
  /** Present in a conversation that a tool of another one started. */
  sub_agent?: SubAgentOrigin | null
  /** Former values of secrets; still masked wherever they appear. The inner member has the name of one that is encrypted. */
  retired?: { secrets: Record<string, string> }
}

/** A conversation that this process owns. */
export type OwnedConversation = { id: ConversationId; owner: string; epoch: number; record: ConversationRecord }

/** Masks in drafts the secret values of a conversation and of its owner. */
export type MaskDrafts = (
  drafts: readonly Draft[],
  owner: string,
  record: ConversationRecord,
) => readonly Draft[] | Promise<readonly Draft[]>

/**
 * Masks drafts that the store accepts only with the current secrets.
 * @param refused the secrets that the store has refused, so that they are read again; null: none
 */
export type MaskForCommit = (
  drafts: readonly Draft[],
  owner: string,
  record: ConversationRecord,
  refused: MaskedSecrets | null,
) => Promise<{ drafts: readonly Draft[]; masked: MaskedSecrets }>

/** References of the client to its own measurements. They have no effect here. */
export type Correlation = Pick<
  StartConversationRequest,
  'user_id' | 'observability_metadata' | 'observability_tags' | 'observability_span_name'
>

/** A plugin, with its state at the moment of the start. */
export type AttachedPlugin = PluginSource & {
  name: string | null
  /** Absolute path of its folder in the workspace. */
  root: string | null
  /** The resolved commit of a git source. */
  resolved_ref: string | null
  /** The user has installed it for all conversations; it is left out where it cannot be used. */
  is_installed?: true
  /** The folder is one skill rather than a plugin. */
  is_skill?: true
}

/** The skills, plugins and notes that the start loaded. */
type LoadedKnowledge = {
  /** Origin of each skill that the request did not contain. */
  origins: Record<string, 'user' | 'project' | 'plugin'>
  /** The hooks of plugins; they follow those of the request. */
  hooks: HookConfig | null
  /** Notes of earlier sessions, for the system prompt only. */
  memory: string | null
  /** False in a fork until its plugins are restored. */
  is_restored?: boolean
}

/** Origin of a sub-agent. Its parent is `parent_conversation_id`. */
export type SubAgentOrigin = {
  tool: 'task' | 'delegate'
  /** Task id, or the name of the delegate. */
  name: string
  /** Name of its definition. */
  type: string
  /** 1 below a top-level conversation. */
  depth: number
  /** Id of the call that created it. */
  call_id: string
}

/** A worktree of the repository of `source`, created below `root`. */
type WorktreeChoice = {
  source: string
  root: string
  /** Null until it is created. */
  branch: string | null
}

export type ConversationTrigger = 'suggested_task' | 'microagent_management'

/** The requested repository, with the results of the start. */
export type RepositoryChoice = {
  /** As given in the request, like `provider` and `branch`. */
  name: string
  provider: GitProvider | null
  /** Null: a new branch. */
  branch: string | null
  /** Host and path, once it is cloned; from then on the clone is the working directory. */
  slug: string | null
  /** Environment variable that the clone's credential helper reads the token from. */
  token_variable: string | null
  /** The branch that the start checked out. */
  checked_out: string | null
  is_set_up: boolean
}

/** Returns the agent server of a workspace; null: this machine. */
export const remoteOf = (workspace: BaseWorkspace): RemoteWorkspace | null =>
  workspace.kind === 'RemoteWorkspace' ? workspace : null

/** The specification with which the workspace of a conversation is opened. */
export const workspaceSpec = (of: {
  id: ConversationId
  owner: string
  epoch: number
  record: Pick<ConversationRecord, 'workspace'>
}): WorkspaceSpec => ({
  conversationId: of.id,
  owner: of.owner,
  workingDir: of.record.workspace.working_dir,
  epoch: of.epoch,
  remote: remoteOf(of.record.workspace),
})

/**
 * Returns the record as text for the store. Secrets and pending messages are encrypted: pending messages are not masked yet. They may have
 * many megabytes, so their encrypted text, which needs no escapes, is not serialised once more with the rest.
 */
export function writeRecord({ pending_messages, ...rest }: ConversationRecord, cipher: Cipher): string {
  const kept = pending_messages.length === 0 ? '[]' : `"${cipher.seal(JSON.stringify(pending_messages))}"`
  return `{"pending_messages":${kept},${JSON.stringify(sealRecord(rest, cipher)).slice(1)}`
}

/** @throws ParleyError `unavailable` when the server's key does not decrypt it. */
export function readRecord(text: string, cipher: Cipher): ConversationRecord {
  const record = unsealRecord(JSON.parse(text), cipher) as ConversationRecord & { pending_messages: unknown }
  if (typeof record.pending_messages !== 'string') return record
  return { ...record, pending_messages: JSON.parse(cipher.open(record.pending_messages)) as MessageContent[] }
}
