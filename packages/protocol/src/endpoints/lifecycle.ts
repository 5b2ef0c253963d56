/** Endpoint rows of the life cycle of a conversation: progress, start again, stop. Source: conversation-service.md 2. */
import { z } from 'zod'
import { ConversationExecutionStatus, ConversationStatus } from '../conversation-status.ts'
import { laxBoolean, laxInt } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { ConversationResponse, GitProvider } from '../conversation-service.ts'
import { endpoint } from './endpoint.ts'
import { list } from '../lists.ts'

const life = { tag: 'Conversations', auth: 'session_key' } as const
const params = z.object({ conversation_id: laxConversationId() })
const one = '/api/conversations/{conversation_id}'

export const ConversationProgress = z.object({
  conversation_id: z.string(),
  title: z.string(),
  /** STARTING during the start, STOPPED after it failed or was stopped, else RUNNING. */
  status: ConversationStatus,
  /** Code of the start's progress, such as `STATUS$READY`. */
  runtime_status: z.string(),
  execution_status: ConversationExecutionStatus,
  /** Latest phase of the start: workspace, repository, branch, setup, agent, ready. */
  phase: z.string().nullable(),
  /** Error code of a start that failed or was stopped, such as `GIT$BRANCH_NOT_FOUND`. */
  code: z.string().nullable(),
  /** Explanation of `code` for people; null without one. */
  reason: z.string().nullable(),
  selected_repository: z.string().nullable(),
  /** The requested branch; after the start, the branch that is checked out. */
  selected_branch: z.string().nullable(),
  git_provider: GitProvider.nullable(),
  /** Null for a plain request. */
  trigger: z.enum(['suggested_task', 'microagent_management']).nullable(),
  /** Live connections to the conversation on this server. */
  num_connections: z.int(),
  url: z.string(),
  created_at: z.string(),
  last_updated_at: z.string(),
  sub_conversation_ids: z.array(z.string()),
})
/** A conversation in the conversation service API. */
export type ConversationProgress = z.infer<typeof ConversationProgress>

export const ConversationProgressPage = z.object({
  /** Newest first. With filters, a page may be short or empty and still name a next page. */
  results: z.array(ConversationProgress),
  next_page_id: z.string().nullable(),
})
/** A page of conversations in the conversation service API. */
export type ConversationProgressPage = z.infer<typeof ConversationProgressPage>

/** Origins of a conversation that the list can filter by; a plain request has none. Source: conversation-service.md 2. */
const ListedTrigger = z.enum([
  'resolver',
  'gui',
  'suggested_task',
  'openhands_api',
  'slack',
  'microagent_management',
  'jira',
  'jira_dc',
  'linear',
  'bitbucket',
  'automation',
])

/** Query members of the conversation service's list, which shares its path with the request by `ids`. Source: conversation-service.md 2. */
export const listQuery = {
  limit: laxInt({ ge: 1, le: 100 }).default(20),
  /** `next_page_id` of the previous page; an unknown one starts at the beginning. */
  page_id: z.string().optional(),
  /** Only conversations of this repository, such as `acme/shop`. */
  selected_repository: z.string().optional(),
  conversation_trigger: ListedTrigger.optional(),
  /** Includes conversations that belong to another conversation. */
  include_sub_conversations: laxBoolean().default(false),
}

export const conversationProgress = endpoint({
  operationId: 'conversationProgress',
  ...life,
  method: 'GET',
  path: `${one}/status`,
  description: 'Returns the status of a conversation, including the progress of its start.',
  params,
  ok: { status: 200, schema: ConversationProgress, description: 'The progress; also during the start' },
  errors: [404],
})

export const startAgain = endpoint({
  operationId: 'startAgain',
  ...life,
  method: 'POST',
  path: `${one}/start`,
  description: 'Starts a conversation again that was stopped or whose start failed.',
  params,
  /** Accepted, because existing clients send it; it has no effect. */
  body: z.looseObject({ providers_set: list(z.string()).nullable().default(null) }),
  bodyOptional: true,
  ok: { status: 200, schema: ConversationResponse, description: 'Starting, or nothing to start' },
  errors: [404],
})

export const stopConversation = endpoint({
  operationId: 'stopConversation',
  ...life,
  method: 'POST',
  path: `${one}/stop`,
  description: 'Stops a conversation: cancels its start or run and ends its processes.',
  params,
  ok: { status: 200, schema: ConversationResponse, description: 'With the status before the stop' },
  errors: [404],
})
