import { posix } from 'node:path'
import {
  type AgentBase,
  type ConversationId,
  invalidInput,
  type LaunchedAgentProfile,
  ParleyError,
  type RemoteWorkspace,
  type StartConversationRequest,
} from '@parley/protocol'
import type { ConversationDefaults } from '../../settings/index.ts'
import { placeOfPlugin } from '../../skills/index.ts'
import type { StartRequest } from '../conversations.ts'
import { fingerprint } from './fingerprint.ts'
import { type Correlation, remoteOf, type SecretSources } from '../record/record.ts'

/** Values that are resolved before the request is converted. */
export type Resolved = {
  /** From settings or a profile, or as in the request. */
  agent: AgentBase
  launched: LaunchedAgentProfile | null
  secrets?: SecretSources
  /** The user's policy and analyzer, for a body without a policy; absent or null: those of the body. */
  review?: Pick<ConversationDefaults, 'confirmation_policy' | 'security_analyzer'> | null
  /** Null: none was requested, or there is no repository. */
  worktree: { id: ConversationId; workingDir: string; root: string } | null
}

/**
 * Converts StartConversationRequest to a start. Pure. Source: agent-server-wire.md 5.1.
 * @throws ParleyError `unsupported`, `invalid_input`.
 */
export function fromAgentServer(body: StartConversationRequest, resolved: Resolved): StartRequest {
  // A plugin that cannot be fetched is refused before anything is stored.
  body.plugins?.forEach((plugin, index) => placeOfPlugin(plugin, ['plugins', index]))
  const request: StartRequest = {
    agent: resolved.agent,
    working_dir: resolved.worktree?.workingDir ?? body.workspace.working_dir,
    remote: remotePlace(body),
    launched_agent_profile: resolved.launched,
    confirmation_policy: resolved.review?.confirmation_policy ?? body.confirmation_policy,
    security_analyzer: body.security_analyzer ?? resolved.review?.security_analyzer ?? null,
    max_iterations: body.max_iterations,
    max_budget_per_task: body.max_budget_per_task ?? null,
    stuck_detection: body.stuck_detection,
    hook_config: body.hook_config ?? null,
    tags: body.tags,
    client_tools: body.client_tools,
    agent_definitions: body.agent_definitions,
    plugins: body.plugins ?? [],
    autotitle: body.autotitle,
    title_llm_profile: body.title_llm_profile,
    parent_conversation_id: body.parent_conversation_id ?? null,
    initial_message: body.initial_message ? { content: body.initial_message.content } : null,
    finds_existing: true,
    fingerprint: fingerprint(body),
  }
  const correlation = correlationOf(body)
  if (correlation !== null) request.correlation = correlation
  if (resolved.secrets !== undefined) request.secrets = resolved.secrets
  const id = resolved.worktree?.id ?? body.conversation_id
  if (id) request.conversation_id = id
  if (typeof body.file_checkpoints === 'boolean') request.checkpoints = body.file_checkpoints
  if (resolved.worktree) request.worktree = { source: body.workspace.working_dir, root: resolved.worktree.root }
  return request
}

/** Null when the request changes nothing. */
function correlationOf(body: StartConversationRequest): Correlation | null {
  const { user_id, observability_metadata, observability_tags, observability_span_name } = body
  const isSaid =
    user_id !== null ||
    Object.keys(observability_metadata).length > 0 ||
    observability_tags.length > 0 ||
    observability_span_name !== 'conversation'
  return isSaid ? { user_id, observability_metadata, observability_tags, observability_span_name } : null
}

/** @throws ParleyError `invalid_input`, `unsupported` for options that a remote workspace does not have */
function remotePlace({ workspace, worktree, file_checkpoints }: StartConversationRequest): RemoteWorkspace | null {
  const remote = remoteOf(workspace)
  if (remote === null) return null
  if (!posix.isAbsolute(remote.working_dir))
    throw invalidInput('working_dir of a RemoteWorkspace has to be absolute.', ['workspace', 'working_dir'])
  if (worktree)
    throw new ParleyError('unsupported', 'worktree is not supported together with a RemoteWorkspace.', {
      details: { member: 'worktree' },
    })
  if (file_checkpoints === true)
    throw new ParleyError('unsupported', 'file_checkpoints are not supported together with a RemoteWorkspace.', {
      details: { member: 'file_checkpoints' },
    })
  // Normalised spelling. Source: agent-core.md 12.9.
  return { ...remote, host: remote.host.replace(/\/+$/, '') }
}
