/** Condensers, which shorten a view. Source: agent-server-wire.md 5.5. */
import { z } from 'zod'
import { laxInt, laxNumber } from './lax.ts'
import { valueError } from './lax-text.ts'
import { LLM } from './llm.ts'
import { kindUnion } from './unions.ts'
import { list } from './lists.ts'

export const NoOpCondenser = z.object({ kind: z.literal('NoOpCondenser').default('NoOpCondenser') })
export type NoOpCondenser = z.infer<typeof NoOpCondenser>

export const LLMSummarizingCondenser = z
  .object({
    kind: z.literal('LLMSummarizingCondenser').default('LLMSummarizingCondenser'),
    llm: LLM,
    /** Events in a view before it is shortened. */
    max_size: laxInt({ gt: 0 }).default(240),
    max_tokens: laxInt().nullable().default(null),
    /** Events at the start that always remain. */
    keep_first: laxInt({ ge: 0 }).default(2),
    minimum_progress: laxNumber({ gt: 0, lt: 1 }).default(0.1),
    hard_context_reset_max_retries: laxInt({ gt: 0 }).default(5),
    hard_context_reset_context_scaling: laxNumber({ gt: 0, lt: 1 }).default(0.8),
  })
  .refine(
    ({ max_size, keep_first }) => Math.floor(max_size / 2) > keep_first + 1,
    valueError('max_size // 2 must be greater than keep_first + 1'),
  )
export type LLMSummarizingCondenser = z.infer<typeof LLMSummarizingCondenser>

export type PipelineCondenser = { kind: 'PipelineCondenser'; condensers: Condenser[] }
export const PipelineCondenser = z.object({
  kind: z.literal('PipelineCondenser').default('PipelineCondenser'),
  get condensers(): z.ZodType<Condenser[], unknown[]> {
    return list(Condenser) as unknown as z.ZodType<Condenser[], unknown[]>
  },
})

export type Condenser = NoOpCondenser | LLMSummarizingCondenser | PipelineCondenser
export const Condenser: z.ZodType<Condenser, unknown> = kindUnion('CondenserBase', {
  NoOpCondenser,
  PipelineCondenser,
  LLMSummarizingCondenser,
})
