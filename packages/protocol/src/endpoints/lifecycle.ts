/** Rows of a conversation's life as products see it: where it stands, start again, stop. Source: conversation-service.md 2. */
import { z } from 'zod'
import { ConversationExecutionStatus, ConversationStatus } from '../conversation-status.ts'
import { laxBoolean, laxInt } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { ConversationResponse, GitProvider } from '../seed.ts'
import { endpoint } from './endpoint.ts'

const life = { tag: 'Conversations', auth: 'session_key' } as const
const params = z.object({ conversation_id: laxConversationId() })
const one = '/api/conversations/{conversation_id}'

export const ConversationProgress = z.object({
  conversation_id: z.string(),
  title: z.string(),
  /** STARTING while the start goes on, STOPPED after it failed or was stopped, else RUNNING. */
  status: ConversationStatus,
  /** Code of where the start stands, such as `STATUS$READY`. */
  runtime_status: z.string(),
  execution_status: ConversationExecutionStatus,
  /** Newest phase of the start: workspace, repository, branch, setup, agent, ready. */
  phase: z.string().nullable(),
  /** Of a start that failed or was stopped, such as `GIT$BRANCH_NOT_FOUND`. */
  code: z.string().nullable(),
  /** In words; null while there is nothing to explain. */
  reason: z.string().nullable(),
  selected_repository: z.string().nullable(),
  /** The branch that is checked out once the start is over; before, the one that was asked for. */
  selected_branch: z.string().nullable(),
  git_provider: GitProvider.nullable(),
  /** Null: a plain request. */
  trigger: z.enum(['suggested_task', 'microagent_management']).nullable(),
  /** Readers that follow it live on this server. */
  num_connections: z.int(),
  url: z.string(),
  created_at: z.string(),
  last_updated_at: z.string(),
  sub_conversation_ids: z.array(z.string()),
})
/** A conversation in the product's words. */
export type ConversationProgress = z.infer<typeof ConversationProgress>

export const ConversationProgressPage = z.object({
  /** Newest first; with filters a page may be short, or empty, and still name a next one. */
  results: z.array(ConversationProgress),
  next_page_id: z.string().nullable(),
})
/** A page of conversations in the product's words. */
export type ConversationProgressPage = z.infer<typeof ConversationProgressPage>

/** What a product may have started a conversation with; a plain request has none. Source: conversation-service.md 2, Triggers. */
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

/** Query members of the list that products read, at the path that a request with `ids` shares. Source: conversation-service.md 2. */
export const listQuery = {
  limit: laxInt({ ge: 1, le: 100 }).default(20),
  /** `next_page_id` of the page before; an unknown one starts at the beginning. */
  page_id: z.string().optional(),
  /** Only those that work on this repository, such as `acme/shop`. */
  selected_repository: z.string().optional(),
  conversation_trigger: ListedTrigger.optional(),
  /** Whether conversations that belong to another one are listed too. */
  include_sub_conversations: laxBoolean().default(false),
}

export const conversationProgress = endpoint({
  ...life,
  method: 'GET',
  path: `${one}/status`,
  summary: 'Where a conversation stands',
  params,
  ok: { status: 200, schema: ConversationProgress, description: 'Readable at any time' },
  errors: [404],
})

export const startAgain = endpoint({
  ...life,
  method: 'POST',
  path: `${one}/start`,
  summary: 'Start a conversation again whose start failed, or that was stopped',
  params,
  /** Existing clients send the providers that they know. */
  body: z.looseObject({ providers_set: z.array(z.string()).nullable().default(null) }),
  bodyOptional: true,
  ok: { status: 200, schema: ConversationResponse, description: 'The start goes on, or there was nothing to start' },
  errors: [404],
})

export const stopConversation = endpoint({
  ...life,
  method: 'POST',
  path: `${one}/stop`,
  summary: 'Stop a conversation: what goes on is cancelled, its processes end',
  params,
  ok: { status: 200, schema: ConversationResponse, description: 'With the status from before' },
  errors: [404],
})

export const lifecycleRows = [conversationProgress, startAgain, stopConversation] as const
