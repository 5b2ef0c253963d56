/**
 * The body of `POST /api/conversations`, which two dialects share. A body with a workspace, an agent, settings or a profile is
 * the agent-server's, any other the seed's. Source: design.md 1.
 */
import { z } from 'zod'
import { StartConversationRequest, type StartConversationRequestInput } from '../requests.ts'
import { InitSessionRequest, type InitSessionRequestInput } from '../seed.ts'
import { issuesOf } from '../unions.ts'

const MARKS = ['workspace', 'agent', 'agent_settings', 'agent_profile_id'] as const

/** Whether a body of `POST /api/conversations` is in the agent-server's dialect. */
export const isAgentServerBody = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && MARKS.some((mark) => mark in body)

export type CreateConversationBody =
  | { dialect: 'agent-server'; request: StartConversationRequest }
  | { dialect: 'seed'; request: InitSessionRequest }
export type CreateConversationInput = StartConversationRequestInput | InitSessionRequestInput

const check = z.transform((value: unknown, ctx) => {
  const schema = isAgentServerBody(value) ? StartConversationRequest : InitSessionRequest
  ctx.issues.push(...issuesOf(schema, value))
  return value
})

const told = (request: StartConversationRequest | InitSessionRequest): CreateConversationBody =>
  'workspace' in request ? { dialect: 'agent-server', request } : { dialect: 'seed', request }

/** Failures are those of the dialect that the body is in. */
export const CreateConversationBody = z
  .pipe(check, z.union([StartConversationRequest, InitSessionRequest]) as never)
  .transform(told as never) as unknown as z.ZodType<CreateConversationBody, CreateConversationInput>
