/** Critics, which rate a finished step. Source: agent-server-wire.md 5.5. */
import { z } from 'zod'
import { laxInt, laxNumber } from './lax.ts'
import { kindUnion } from './unions.ts'

const criticFields = {
  mode: z.enum(['finish_and_message', 'all_actions']).default('finish_and_message'),
  iterative_refinement: z
    .object({
      success_threshold: laxNumber({ ge: 0, le: 1 }).default(0.6),
      max_iterations: laxInt({ ge: 1 }).default(3),
    })
    .nullable()
    .default(null),
}

export const AgentFinishedCritic = z.object({
  kind: z.literal('AgentFinishedCritic').default('AgentFinishedCritic'),
  ...criticFields,
})
export const EmptyPatchCritic = z.object({
  kind: z.literal('EmptyPatchCritic').default('EmptyPatchCritic'),
  ...criticFields,
})
export const PassCritic = z.object({ kind: z.literal('PassCritic').default('PassCritic'), ...criticFields })

/** Its label lists concern only the remote classifier: they are stored as sent. */
export const APIBasedCritic = z.looseObject({
  kind: z.literal('APIBasedCritic').default('APIBasedCritic'),
  ...criticFields,
  server_url: z.string().default('https://llm-proxy.app.all-hands.dev/vllm'),
  /** Secret. Null once redacted. */
  api_key: z.string().nullable(),
  model_name: z.string().default('critic'),
})

export const Critic = kindUnion('CriticBase', { AgentFinishedCritic, EmptyPatchCritic, PassCritic, APIBasedCritic })
export type Critic = z.infer<typeof Critic>
