/**
 * The body of `POST /api/conversations`, which two APIs share. A body with a workspace, an agent, agent settings or an agent
 * profile belongs to the agent-server API, any other body to the conversation service API. Source: decisions.md, One path for two APIs.
 */
import { z } from 'zod'
import { StartConversationRequest, type StartConversationRequestInput } from '../requests.ts'
import { InitSessionRequest, type InitSessionRequestInput } from '../conversation-service.ts'
import { outcomeOf, reader } from '../unions.ts'

const MARKS = ['workspace', 'agent', 'agent_settings', 'agent_profile_id'] as const

/** True for a body of `POST /api/conversations` that belongs to the agent-server API. */
const isAgentServerBody = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && MARKS.some((mark) => mark in body)

export type CreateConversationBody =
  /** `hasPolicy`: the body names a confirmation policy, which the request always has. */
  | { api: 'agent-server'; request: StartConversationRequest; hasPolicy: boolean }
  | { api: 'conversation-service'; request: InitSessionRequest }
export type CreateConversationInput = StartConversationRequestInput | InitSessionRequestInput

function read(value: unknown, ctx: z.core.$RefinementCtx): unknown {
  const isAgentServer = isAgentServerBody(value)
  const { output, issues } = outcomeOf(isAgentServer ? StartConversationRequest : InitSessionRequest, value)
  ctx.issues.push(...issues)
  if (!isAgentServer) return { api: 'conversation-service', request: output }
  return { api: 'agent-server', request: output, hasPolicy: 'confirmation_policy' in (value as object) }
}

/** Validation failures are those of the API that the body belongs to. */
export const CreateConversationBody = reader(
  read,
  z.union([StartConversationRequest, InitSessionRequest]),
) as unknown as z.ZodType<CreateConversationBody, CreateConversationInput>
