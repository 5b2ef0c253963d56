/** Rows of the agent-server face. Source: agent-server-wire.md 1.2 to 1.6. */
import { z } from 'zod'
import { ConversationExecutionStatus } from '../conversation-status.ts'
import { ConversationInfo, ConversationPage } from '../conversation.ts'
import { EventSource } from '../events/base.ts'
import { laxBoolean, laxInt } from '../lax.ts'
import { laxConversationId, laxEventTime } from '../lax-text.ts'
import {
  AskAgentRequest,
  ConfirmationResponseRequest,
  ForkConversationRequest,
  NavigateRequest,
  SendMessageRequest,
  SetConfirmationPolicyRequest,
  SetSecurityAnalyzerRequest,
  UpdateConversationRequest,
} from '../requests.ts'
import { ConversationResponse } from '../seed.ts'
import type { WireEvent } from '../wire-event.ts'
import { CreateConversationBody } from './create-conversation.ts'
import { endpoint } from './endpoint.ts'
import { ConversationProgressPage, listQuery } from './lifecycle.ts'

const conversations = { tag: 'Conversations', auth: 'session_key' } as const
const events = { tag: 'Events', auth: 'session_key' } as const

const params = z.object({ conversation_id: laxConversationId() })
const skills = { include_skills: laxBoolean().default(false) }
const query = z.object(skills)

export const Success = z.object({ success: z.boolean().default(true) })
export type Success = z.infer<typeof Success>

const done = (description: string) => ({ status: 200, schema: Success, description })
const info = (description: string) => ({ status: 200, schema: ConversationInfo, description })
const one = '/api/conversations/{conversation_id}'

/** A query member that may be repeated: one text is a list of one. */
const repeated = <T>(item: z.ZodType<T, T>) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item)) as unknown as z.ZodType<
    T[],
    T[]
  >

const WireEventBody = z
  .custom<WireEvent>((value) => typeof value === 'object' && value !== null && 'kind' in value)
  .meta({ type: 'object', description: 'One event, told apart by `kind`.' })
const limit = laxInt({ gt: 0, le: 100 }).default(100)
const ConversationSort = z.enum(['CREATED_AT', 'UPDATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT_DESC'])
const status = ConversationExecutionStatus.optional()

export const createConversation = endpoint({
  ...conversations,
  method: 'POST',
  path: '/api/conversations',
  summary: 'Create a conversation, in either dialect',
  query: z.object({
    ...skills,
    /** Ours: pause the replay of `replay_json` at the first result that is not the recorded one. */
    replay_stop_on_divergence: laxBoolean().default(false),
  }),
  body: CreateConversationBody,
  ok: {
    status: 200,
    schema: z.union([ConversationInfo, ConversationResponse]),
    description: 'The start was taken up, or the id is known and its record is answered',
  },
  also: [{ status: 201, schema: ConversationInfo, description: 'Created' }],
  errors: [404, 409],
})

/** One path for two faces, told apart by `ids` as the bodies of `POST` are by their members. Source: agent-server-wire.md 1.4; conversation-service.md 2. */
export const getConversations = endpoint({
  ...conversations,
  method: 'GET',
  path: '/api/conversations',
  summary: 'Several conversations by id; without ids a page of all, newest first',
  query: z.object({
    ids: repeated(laxConversationId()).optional(),
    ...skills,
    ...listQuery,
  }),
  ok: {
    status: 200,
    schema: z.union([z.array(ConversationInfo.nullable()), ConversationProgressPage]),
    description: 'With ids: those, in the order asked, null for an unknown one. Without: a page',
  },
  errors: [],
})

export const searchConversations = endpoint({
  ...conversations,
  method: 'GET',
  path: '/api/conversations/search',
  summary: 'A page of conversations',
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
  ...conversations,
  method: 'GET',
  path: '/api/conversations/count',
  summary: 'How many conversations there are',
  query: z.object({ status }),
  ok: { status: 200, schema: z.int(), description: 'The number' },
  errors: [],
})

export const getConversation = endpoint({
  ...conversations,
  method: 'GET',
  path: one,
  summary: 'One conversation, secrets hidden or as X-Expose-Secrets says',
  params,
  query,
  ok: info('The conversation'),
  errors: [400, 403, 404],
})

export const updateConversation = endpoint({
  ...conversations,
  method: 'PATCH',
  path: one,
  summary: 'Change title or tags',
  params,
  body: UpdateConversationRequest,
  ok: done('Whether there is such a conversation'),
  errors: [409],
})

export const deleteConversation = endpoint({
  ...conversations,
  method: 'DELETE',
  path: one,
  summary: 'Delete a conversation; its working directory stays',
  params,
  ok: done('Deleted'),
  errors: [400, 409],
})

export const runConversation = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/run`,
  summary: 'Start a run in the background; takes a waiting batch as accepted',
  params,
  ok: done('Started'),
  errors: [400, 404, 409],
})

export const pauseConversation = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/pause`,
  summary: 'Stop before the next step',
  params,
  ok: done('Paused, or nothing to pause'),
  errors: [400, 409],
})

export const interruptConversation = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/interrupt`,
  summary: 'Cancel the call in flight and stop',
  params,
  ok: done('Stopped, or nothing to stop'),
  errors: [400, 409],
})

export const setConfirmationPolicy = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/confirmation_policy`,
  summary: 'Replace the confirmation policy',
  params,
  body: SetConfirmationPolicyRequest,
  ok: done('Replaced'),
  errors: [404, 409],
})

export const setSecurityAnalyzer = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/security_analyzer`,
  summary: 'Replace the security analyzer',
  params,
  body: SetSecurityAnalyzerRequest,
  ok: done('Replaced'),
  errors: [404, 409],
})

export const forkConversation = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/fork`,
  summary: 'Copy a conversation, or one branch of it',
  params,
  query,
  body: ForkConversationRequest,
  bodyOptional: true,
  ok: { status: 201, schema: ConversationInfo, description: 'The new conversation' },
  errors: [404, 409],
})

export const navigateConversation = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/navigate`,
  summary: 'Move the leaf to any event, or to the empty tree',
  params,
  query,
  body: NavigateRequest,
  ok: info('The conversation with its new leaf'),
  errors: [404, 409],
})

export const agentFinalResponse = endpoint({
  ...conversations,
  method: 'GET',
  path: `${one}/agent_final_response`,
  summary: 'Text of the last finish or agent message',
  params,
  ok: { status: 200, schema: z.object({ response: z.string() }), description: 'Empty when there is none' },
  errors: [404, 409],
})

export const askAgent = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/ask_agent`,
  summary:
    'Ask the agent something beside its task, also while it runs; no tool is called and nothing but the cost is recorded',
  params,
  body: AskAgentRequest,
  ok: { status: 200, schema: z.object({ response: z.string() }), description: 'What the agent says' },
  errors: [400, 404, 409, 429, 503],
})

export const condenseConversation = endpoint({
  ...conversations,
  method: 'POST',
  path: `${one}/condense`,
  summary: 'Put a summary in the place of the older part of what the model sees, between two steps if a run goes on',
  params,
  ok: done('It is shorter, or there was nothing to leave out'),
  errors: [400, 404, 409, 429, 503],
})

export const sendMessage = endpoint({
  ...events,
  method: 'POST',
  path: `${one}/events`,
  summary: 'Send a user message',
  params,
  body: SendMessageRequest,
  ok: done('Stored'),
  errors: [404, 409],
})

const eventFilter = {
  /** A short name, or the class path that existing clients send. */
  kind: z.string().optional(),
  source: EventSource.optional(),
  /** Case-insensitive, over the text of messages. */
  body: z.string().optional(),
  timestamp__gte: laxEventTime().optional(),
  timestamp__lt: laxEventTime().optional(),
}

export const searchEvents = endpoint({
  ...events,
  method: 'GET',
  path: `${one}/events/search`,
  summary: 'A page of events, in the order they were stored',
  params,
  query: z.object({
    /** Id of the first event of the page. */
    page_id: z.string().optional(),
    limit,
    ...eventFilter,
    sort_order: z.enum(['TIMESTAMP', 'TIMESTAMP_DESC']).default('TIMESTAMP'),
    /** Ours: only events after this place in the log; before it when descending. */
    seq: laxInt({ ge: 0 }).optional(),
  }),
  ok: {
    status: 200,
    schema: z.object({ items: z.array(WireEventBody), next_page_id: z.string().nullable() }),
    description: 'The page, null-valued members left out',
  },
  errors: [404],
})

export const countEvents = endpoint({
  ...events,
  method: 'GET',
  path: `${one}/events/count`,
  summary: 'How many events match',
  params,
  query: z.object(eventFilter),
  ok: { status: 200, schema: z.int(), description: 'The number' },
  errors: [404],
})

export const streamEvents = endpoint({
  ...events,
  method: 'GET',
  path: `${one}/events/stream`,
  summary: 'Stored events after a place in the log, then live ones, as server-sent events',
  params,
  query: z.object({ after_seq: laxInt({ ge: 0 }).optional() }),
  ok: { status: 200, description: 'text/event-stream of Frame objects; the id of an event frame is its seq' },
  errors: [404, 409],
})

export const getEvent = endpoint({
  ...events,
  method: 'GET',
  path: `${one}/events/{event_id}`,
  summary: 'One event',
  params: z.object({ conversation_id: laxConversationId(), event_id: z.string() }),
  ok: { status: 200, schema: WireEventBody, description: 'The event, null-valued members included' },
  errors: [404],
})

export const respondToConfirmation = endpoint({
  ...events,
  method: 'POST',
  path: `${one}/events/respond_to_confirmation`,
  summary: 'Accept or reject the waiting batch',
  params,
  body: ConfirmationResponseRequest,
  ok: done('Recorded'),
  errors: [404, 409],
})

/** Literal paths stand before those with a parameter in the same place. */
export const agentServerRows = [
  createConversation,
  getConversations,
  searchConversations,
  countConversations,
  getConversation,
  updateConversation,
  deleteConversation,
  runConversation,
  pauseConversation,
  interruptConversation,
  setConfirmationPolicy,
  setSecurityAnalyzer,
  forkConversation,
  navigateConversation,
  agentFinalResponse,
  askAgent,
  condenseConversation,
  sendMessage,
  searchEvents,
  countEvents,
  streamEvents,
  getEvent,
  respondToConfirmation,
] as const
