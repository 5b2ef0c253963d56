/** Bodies of New Conversation and its response. Source: interface.md, New Conversation, Other request records. */
import { z } from 'zod'
import { ConversationStatus } from './conversation-status.ts'
import { laxInt } from './lax.ts'
import { laxConversationId, valueError } from './lax-text.ts'
import { MCPConfig } from './mcp-config.ts'
import { ReplayText } from './replay.ts'
import { branchName, repositoryName } from './repository-name.ts'
import { list } from './lists.ts'

export const GitProvider = z.enum([
  'github',
  'gitlab',
  'bitbucket',
  'enterprise_sso',
  'git_host_1',
  'git_host_2',
  'git_host_3',
])
/**
 * A git host under its own name or the neutral one of the conversation service; the spelling of the request is kept.
 */
export type GitProvider = z.infer<typeof GitProvider>

const maybeText = () => z.string().nullable().default(null)
const maybeProvider = () => GitProvider.nullable().default(null)

export const SuggestedTask = z.object({
  /** Null: the provider of the request. */
  git_provider: maybeProvider(),
  task_type: z.enum(['MERGE_CONFLICTS', 'FAILING_CHECKS', 'UNRESOLVED_COMMENTS', 'OPEN_ISSUE']).default('OPEN_ISSUE'),
  repo: z.string(),
  issue_number: laxInt(),
  title: z.string(),
})
export type SuggestedTask = z.infer<typeof SuggestedTask>

export const CreateMicroagent = z.object({
  /** Fills `repository` when that is empty. */
  repo: repositoryName(),
  git_provider: maybeProvider(),
  title: maybeText(),
})
export type CreateMicroagent = z.infer<typeof CreateMicroagent>

/** Empty text counts as absent. Source: conversation-service.md 1.1. */
const maybeId = z.preprocess(
  (value) => (value === '' ? undefined : value),
  laxConversationId().optional(),
) as unknown as z.ZodOptional<ReturnType<typeof laxConversationId>>

export const InitSessionRequest = z
  .strictObject({
    /** `owner/name`, groups and a name, or an http(s) address. */
    repository: repositoryName().nullable().default(null),
    /** Null: the provider of the user's stored token, otherwise github. */
    git_provider: maybeProvider(),
    /** Null: a new branch from the repository's default branch. */
    selected_branch: branchName().nullable().default(null),
    initial_user_msg: maybeText(),
    image_urls: list(z.string()).nullable().default(null),
    /** JSON text: an array of recorded events. */
    replay_json: ReplayText.nullable().default(null),
    suggested_task: SuggestedTask.nullable().default(null),
    create_microagent: CreateMicroagent.nullable().default(null),
    conversation_instructions: maybeText(),
    mcp_config: MCPConfig.nullable().default(null),
    conversation_id: maybeId,
  })
  .refine(
    ({ replay_json, initial_user_msg, image_urls, suggested_task }) =>
      !replay_json || (!initial_user_msg && !image_urls?.length && suggested_task === null),
    valueError('replay_json cannot be combined with initial_user_msg, image_urls or suggested_task'),
  )
  .refine(
    ({ suggested_task, create_microagent }) => suggested_task === null || create_microagent === null,
    valueError('suggested_task cannot be combined with create_microagent'),
  )
  .refine(
    ({ selected_branch, repository, create_microagent }) =>
      !selected_branch || Boolean(repository) || Boolean(create_microagent?.repo),
    valueError('selected_branch needs a repository'),
  )
/** The body of New Conversation. Closed; `{}` is legal. */
export type InitSessionRequest = z.infer<typeof InitSessionRequest>
export type InitSessionRequestInput = z.input<typeof InitSessionRequest>

export const ConversationResponse = z.object({
  status: z.string(),
  conversation_id: z.string(),
  message: z.string().nullable().optional(),
  conversation_status: ConversationStatus.nullable().optional(),
})
/** The response of New Conversation. */
export type ConversationResponse = z.infer<typeof ConversationResponse>
