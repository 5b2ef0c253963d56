/**
 * The body of `POST /api/conversations`, which two APIs share. A body with a workspace, an agent, agent settings or an agent
 * profile belongs to the agent-server API, any other body to the conversation service API. Source: decisions.md, One path for two APIs.
 */
import { z } from 'zod'
import { StartConversationRequest, type StartConversationRequestInput } from '../requests.ts'
import { InitSessionRequest, type InitSessionRequestInput } from '../conversation-service.ts'
import { issuesOf } from '../unions.ts'

const MARKS = ['workspace', 'agent', 'agent_settings', 'agent_profile_id'] as const

/** True for a body of `POST /api/conversations` that belongs to the agent-server API. */
const isAgentServerBody = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && MARKS.some((mark) => mark in body)

export type CreateConversationBody =
  | { api: 'agent-server'; request: StartConversationRequest }
  | { api: 'conversation-service'; request: InitSessionRequest }
export type CreateConversationInput = StartConversationRequestInput | InitSessionRequestInput

const check = z.transform((value: unknown, ctx) => {
  const schema = isAgentServerBody(value) ? StartConversationRequest : InitSessionRequest
  ctx.issues.push(...issuesOf(schema, value))
  return value
})

const tagged = (request: StartConversationRequest | InitSessionRequest): CreateConversationBody =>
  'workspace' in request ? { api: 'agent-server', request } : { api: 'conversation-service', request }

/** Validation failures are those of the API that the body belongs to. */
export const CreateConversationBody = z
  .pipe(check, z.union([StartConversationRequest, InitSessionRequest]) as never)
  .transform(tagged as never) as unknown as z.ZodType<CreateConversationBody, CreateConversationInput>
