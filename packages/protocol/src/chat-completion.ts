/**
 * Chat completions of other vendors' clients, as far as a conversation supports them. Source: agent-server-wire.md
 * 1.13.
 */
import { z } from 'zod'
import { laxBoolean } from './lax.ts'
import { list, LIST_LIMITS } from './lists.ts'

const Part = z.looseObject({ type: z.string() })
/** Text, or parts of type `text` and `image_url`. */
const Content = z
  .union([z.string(), list(Part)])
  .nullable()
  .default(null)

export const ChatMessage = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: Content,
})
export type ChatMessage = z.infer<typeof ChatMessage>

export const ChatCompletionRequest = z.looseObject({
  /** `openhands_` and the name of a stored profile. */
  model: z.string(),
  messages: list(ChatMessage, { max: LIST_LIMITS.recorded }).min(1),
  stream: laxBoolean().nullable().default(false),
})
/** Other members that such clients send concern a model and not an agent: they are accepted without effect. */
export type ChatCompletionRequest = z.infer<typeof ChatCompletionRequest>

const Usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })

export const ChatCompletion = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  /** Epoch seconds. */
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({ role: z.literal('assistant'), content: z.string() }),
      finish_reason: z.literal('stop'),
    }),
  ),
  usage: Usage,
})
export type ChatCompletion = z.infer<typeof ChatCompletion>

export const GatewayModel = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
})
export type GatewayModel = z.infer<typeof GatewayModel>

export const GatewayModels = z.object({ object: z.literal('list'), data: z.array(GatewayModel) })
export type GatewayModels = z.infer<typeof GatewayModels>
