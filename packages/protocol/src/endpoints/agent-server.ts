/** Endpoint rows of conversations and events in the agent-server API. Source: agent-server-wire.md 1.2 to 1.6. */
import { z } from 'zod'
import { ConversationExecutionStatus } from '../conversation-status.ts'
import { ConversationInfo, ConversationPage } from '../conversation.ts'
import { EventSource } from '../events/base.ts'
import { laxBoolean, laxInt } from '../lax.ts'
import { laxConversationId, laxEventTime, laxSeqRange } from '../lax-text.ts'
import {
  AskAgentRequest,
  ConfirmationResponseRequest,
  ForkConversationRequest,
  NavigateRequest,
  RunRequest,
  SendEventRequest,
  SetConfirmationPolicyRequest,
  SetSecurityAnalyzerRequest,
  UpdateConversationRequest,
} from '../requests.ts'
import { ConversationResponse } from '../conversation-service.ts'
import type { WireEvent } from '../wire-event.ts'
import { CreateConversationBody } from './create-conversation.ts'
import { endpoint, LARGE_BODY_LIMIT_BYTES } from './endpoint.ts'
import { ConversationProgressPage, listQuery } from './lifecycle.ts'
import { list, LIST_LIMITS } from '../lists.ts'

const conversations = { tag: 'Conversations', auth: 'session_key' } as const
const events = { tag: 'Events', auth: 'session_key' } as const

const params = z.object({ conversation_id: laxConversationId() })
const skills = { include_skills: laxBoolean().default(false) }
const query = z.object(skills)

export const Success = z.object({ success: z.boolean().default(true) })
export type Success = z.infer<typeof Success>

/** What became of the workspace of a deleted conversation. */
export const DeletedWorkspace = z.object({
  /** The directory; null when it is on another server, or not known. */
  path: z.string().nullable(),
  outcome: z.enum(['removed', 'kept']),
  /**
   * Why it is kept: the request says so; another conversation works in it; it has files outside a repository, or changes that are
   * not committed; it has commits that are on no remote branch; it could not be checked; the server did not create it; its removal
   * failed and is repeated. Null: it is removed.
   */
  reason: z.enum(['requested', 'shared', 'uncommitted', 'unpushed', 'unchecked', 'not_made', 'failed']).nullable(),
  /** A sentence about the reason. */
  detail: z.string().nullable(),
})
export type DeletedWorkspace = z.infer<typeof DeletedWorkspace>

/** How the files of a fork relate to those of its source. */
export const ForkFiles = z.object({
  /** `copied`: the fork has files of its own, those of its event. `shared`: it works in the directory of its source. */
  outcome: z.enum(['copied', 'shared']),
  /** Why the directory is shared, or what the copy lacks, and what can be done about it; null: the copy is complete. */
  detail: z.string().nullable(),
})
export type ForkFiles = z.infer<typeof ForkFiles>

const done = (description: string) => ({ status: 200, schema: Success, description })
const info = (description: string) => ({ status: 200, schema: ConversationInfo, description })
const one = '/api/conversations/{conversation_id}'

/** A query member that may be repeated; one text is read as a list of one. */
const repeated = <T>(item: z.ZodType<T, T>) =>
  z.preprocess(
    (value) => (typeof value === 'string' ? [value] : value),
    list(item, { max: LIST_LIMITS.ids }),
  ) as unknown as z.ZodType<T[], T[]>

const WireEventBody = z
  .custom<WireEvent>((value) => typeof value === 'object' && value !== null && 'kind' in value)
  .meta({ type: 'object', description: 'One event; `kind` names its type.' })
const limit = laxInt({ gt: 0, le: 100 }).default(100)
const ConversationSort = z.enum(['CREATED_AT', 'UPDATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT_DESC'])
const status = ConversationExecutionStatus.optional()

export const createConversation = endpoint({
  operationId: 'createConversation',
  ...conversations,
  method: 'POST',
  path: '/api/conversations',
  description: 'Starts a conversation; the body is that of either API.',
  query: z.object({
    ...skills,
    /** Parley's own: pauses the replay of `replay_json` at the first result that differs from the recorded one. */
    replay_stop_on_divergence: laxBoolean().default(false),
  }),
  body: CreateConversationBody,
  bodyLimitBytes: LARGE_BODY_LIMIT_BYTES,
  namesAddresses: true,
  ok: {
    status: 200,
    schema: z.union([ConversationInfo, ConversationResponse]),
    description: 'The start was accepted, or the id exists and its record is returned',
  },
  also: [{ status: 201, schema: ConversationInfo, description: 'Created' }],
  errors: [404, 409, 429, 507],
})

/** The two APIs share this path; `ids` selects the agent-server API. Source: agent-server-wire.md 1.4; conversation-service.md 2. */
export const getConversations = endpoint({
  operationId: 'getConversations',
  ...conversations,
  method: 'GET',
  path: '/api/conversations',
  description: 'Returns conversations by id; without `ids`, a page of all conversations, newest first.',
  query: z.object({
    ids: repeated(laxConversationId()).optional(),
    ...skills,
    ...listQuery,
  }),
  ok: {
    status: 200,
    schema: z.union([z.array(ConversationInfo.nullable()), ConversationProgressPage]),
    description: 'With ids: these conversations in the requested order, null for an unknown id. Without: a page',
  },
  errors: [],
})

export const searchConversations = endpoint({
  operationId: 'searchConversations',
  ...conversations,
  method: 'GET',
  path: '/api/conversations/search',
  description: 'Returns a page of conversations.',
  query: z.object({
    /** Id of the first item; an unknown one starts at the beginning. */
    page_id: z.string().optional(),
    limit,
    status,
    sort_order: ConversationSort.default('CREATED_AT_DESC'),
    ...skills,
  }),
  ok: { status: 200, schema: ConversationPage, description: 'The page' },
  errors: [],
})

export const countConversations = endpoint({
  operationId: 'countConversations',
  ...conversations,
  method: 'GET',
  path: '/api/conversations/count',
  description: 'Returns the number of conversations.',
  query: z.object({ status }),
  ok: { status: 200, schema: z.int(), description: 'The number' },
  errors: [],
})

export const getConversation = endpoint({
  operationId: 'getConversation',
  ...conversations,
  method: 'GET',
  path: one,
  description: 'Returns a conversation. Secrets are hidden unless X-Expose-Secrets asks for them.',
  params,
  query,
  ok: info('The conversation'),
  errors: [400, 403, 404],
})

export const updateConversation = endpoint({
  operationId: 'updateConversation',
  ...conversations,
  method: 'PATCH',
  path: one,
  description: 'Changes the title or the tags of a conversation.',
  params,
  body: UpdateConversationRequest,
  ok: done('`success` is false for an unknown conversation'),
  errors: [409],
})

export const deleteConversation = endpoint({
  operationId: 'deleteConversation',
  ...conversations,
  method: 'DELETE',
  path: one,
  description:
    'Deletes a conversation. A workspace that the server has created is removed with its last conversation, and kept if it has unsaved work.',
  params,
  query: z.object({
    /** `keep` and `delete` decide about the workspace whatever it contains. */
    workspace: z.enum(['auto', 'keep', 'delete']).default('auto'),
  }),
  ok: {
    status: 200,
    schema: Success.extend({ workspace: DeletedWorkspace }),
    description: 'Deleted; `workspace` says what became of its workspace',
  },
  errors: [400, 409],
})

export const runConversation = endpoint({
  operationId: 'runConversation',
  ...conversations,
  method: 'POST',
  path: `${one}/run`,
  description:
    'Starts a run in the background, and accepts the pending batch of actions: that of `batch_id`, or one that a client of the same user has received. With `approve` false it accepts none, and returns 409 while one waits.',
  params,
  body: RunRequest,
  bodyOptional: true,
  ok: done('Started'),
  errors: [400, 404, 409],
})

export const pauseConversation = endpoint({
  operationId: 'pauseConversation',
  ...conversations,
  method: 'POST',
  path: `${one}/pause`,
  description: 'Stops the run before its next step.',
  params,
  ok: done('Paused, or nothing to pause'),
  errors: [400, 409],
})

export const interruptConversation = endpoint({
  operationId: 'interruptConversation',
  ...conversations,
  method: 'POST',
  path: `${one}/interrupt`,
  description: 'Cancels the call in flight and stops the run.',
  params,
  ok: done('Stopped, or nothing to stop'),
  errors: [400, 409],
})

export const setConfirmationPolicy = endpoint({
  operationId: 'setConfirmationPolicy',
  ...conversations,
  method: 'POST',
  path: `${one}/confirmation_policy`,
  description: 'Replaces the confirmation policy.',
  params,
  body: SetConfirmationPolicyRequest,
  ok: done('Replaced'),
  errors: [404, 409],
})

export const setSecurityAnalyzer = endpoint({
  operationId: 'setSecurityAnalyzer',
  ...conversations,
  method: 'POST',
  path: `${one}/security_analyzer`,
  description: 'Replaces the security analyzer.',
  params,
  body: SetSecurityAnalyzerRequest,
  namesAddresses: true,
  ok: done('Replaced'),
  errors: [404, 409],
})

export const forkConversation = endpoint({
  operationId: 'forkConversation',
  ...conversations,
  method: 'POST',
  path: `${one}/fork`,
  description: 'Copies a conversation, or one branch of it.',
  params,
  query,
  body: ForkConversationRequest,
  bodyOptional: true,
  ok: {
    status: 201,
    schema: ConversationInfo.extend({ files: ForkFiles }),
    description: 'The new conversation; `files` says whether it has a copy of the files',
  },
  errors: [404, 409, 429, 507],
})

export const navigateConversation = endpoint({
  operationId: 'navigateConversation',
  ...conversations,
  method: 'POST',
  path: `${one}/navigate`,
  description:
    'Moves the leaf to any event, or to the empty tree. With `expected_leaf_event_id`, only from that leaf; otherwise returns 409.',
  params,
  query,
  body: NavigateRequest,
  ok: info('The conversation with its new leaf'),
  errors: [404, 409],
})

export const agentFinalResponse = endpoint({
  operationId: 'agentFinalResponse',
  ...conversations,
  method: 'GET',
  path: `${one}/agent_final_response`,
  description: 'Returns the text of the last finish action or agent message.',
  params,
  ok: { status: 200, schema: z.object({ response: z.string() }), description: 'The text; empty when there is none' },
  errors: [404, 409],
})

export const askAgent = endpoint({
  operationId: 'askAgent',
  ...conversations,
  method: 'POST',
  path: `${one}/ask_agent`,
  description:
    'Asks the agent a question outside its task, also during a run. No tool is called and only the cost is recorded.',
  params,
  body: AskAgentRequest,
  ok: { status: 200, schema: z.object({ response: z.string() }), description: 'The reply' },
  errors: [400, 404, 409, 429, 503],
})

export const condenseConversation = endpoint({
  operationId: 'condenseConversation',
  ...conversations,
  method: 'POST',
  path: `${one}/condense`,
  description: 'Replaces the older part of what the model sees by a summary; during a run, between two steps.',
  params,
  ok: done('Condensed, or nothing to condense'),
  errors: [400, 404, 409, 429, 503],
})

export const sendMessage = endpoint({
  operationId: 'sendMessage',
  ...events,
  method: 'POST',
  path: `${one}/events`,
  description:
    'Stores a user message. With an `event_id`, a repetition changes nothing; another message under that id returns 409. With a `parent_event_id`, the leaf moves there first, both or neither.',
  params,
  body: SendEventRequest,
  bodyLimitBytes: LARGE_BODY_LIMIT_BYTES,
  ok: done('Stored'),
  errors: [404, 409, 507],
})

const eventFilter = {
  /** A short name, or the class path that existing clients send. */
  kind: z.string().optional(),
  source: EventSource.optional(),
  /** Text that messages contain; case-insensitive. */
  body: z.string().optional(),
  timestamp__gte: laxEventTime().optional(),
  timestamp__lt: laxEventTime().optional(),
}

export const searchEvents = endpoint({
  operationId: 'searchEvents',
  ...events,
  method: 'GET',
  path: `${one}/events/search`,
  description: 'Returns a page of the events of a conversation, oldest first.',
  params,
  query: z.object({
    /** Id of the first event of the page. */
    page_id: z.string().optional(),
    limit,
    ...eventFilter,
    sort_order: z.enum(['TIMESTAMP', 'TIMESTAMP_DESC']).default('TIMESTAMP'),
    /** Parley's own: only events with a greater `seq`; with a smaller one in descending order. */
    seq: laxInt({ ge: 0 }).optional(),
    /** Parley's own: the events of these seqs, oldest first; `page_id`, `seq`, `limit` and `sort_order` are then without effect. */
    seqs: laxSeqRange().optional(),
  }),
  ok: {
    status: 200,
    schema: z.object({
      items: z.array(WireEventBody),
      /** With `seqs` only: the seq of each item. */
      seqs: z.array(z.int()).optional(),
      next_page_id: z.string().nullable(),
    }),
    description: 'The page; members that are null are omitted',
  },
  errors: [404],
})

export const countEvents = endpoint({
  operationId: 'countEvents',
  ...events,
  method: 'GET',
  path: `${one}/events/count`,
  description: 'Returns the number of events that match.',
  params,
  query: z.object(eventFilter),
  ok: { status: 200, schema: z.int(), description: 'The number' },
  errors: [404],
})

export const streamEvents = endpoint({
  operationId: 'streamEvents',
  ...events,
  method: 'GET',
  path: `${one}/events/stream`,
  description: 'Streams the stored events after a place in the log, then new events, as server-sent events.',
  params,
  query: z.object({ after_seq: laxInt({ ge: 0 }).optional() }),
  ok: { status: 200, description: 'text/event-stream of Frame objects; the id of an event frame is its seq' },
  errors: [404, 409, 429],
})

export const batchGetEvents = endpoint({
  operationId: 'batchGetEvents',
  ...events,
  method: 'GET',
  path: `${one}/events`,
  description: 'Returns events of a conversation by id; the ids are a JSON body.',
  params,
  body: list(z.string(), { max: LIST_LIMITS.ids }),
  ok: {
    status: 200,
    schema: z.array(WireEventBody.nullable()),
    description: 'In the requested order, including members that are null; null for an unknown id',
  },
  errors: [404],
})

export const prepareForPause = endpoint({
  operationId: 'prepareForPause',
  ...conversations,
  method: 'POST',
  path: '/api/conversations/prepare-for-sandbox-pause',
  description:
    'Confirms that the machine may be suspended: what was answered is on disk, and runs continue afterwards.',
  ok: { status: 204, description: 'The machine may be suspended' },
  errors: [],
})

export const getEvent = endpoint({
  operationId: 'getEvent',
  ...events,
  method: 'GET',
  path: `${one}/events/{event_id}`,
  description: 'Returns an event of a conversation.',
  params: z.object({ conversation_id: laxConversationId(), event_id: z.string() }),
  ok: { status: 200, schema: WireEventBody, description: 'The event, including members that are null' },
  errors: [404],
})

export const respondToConfirmation = endpoint({
  operationId: 'respondToConfirmation',
  ...events,
  method: 'POST',
  path: `${one}/events/respond_to_confirmation`,
  description:
    'Accepts or rejects the pending batch of actions. Without `batch_id`, a batch that no client of the same user has received cannot be accepted.',
  params,
  body: ConfirmationResponseRequest,
  ok: done('Recorded'),
  errors: [404, 409],
})
