/** A goal: work goes on until a judge says that it is reached. Source: agent-core.md 3.7; agent-server-wire.md 1.5. */
import { z } from 'zod'

export const GoalVerdict = z.object({
  /** 0: nothing is done; 1: everything. */
  score: z.number(),
  complete: z.boolean(),
  /** What is still missing, in words for the agent. */
  missing: z.string(),
})
/** What the judge said last. */
export type GoalVerdict = z.infer<typeof GoalVerdict>

export const GoalStatus = z.object({
  active: z.boolean(),
  status: z.enum(['running', 'complete', 'capped', 'interrupted']),
  /** Verdicts so far. */
  iteration: z.int(),
  max_iterations: z.int(),
  objective: z.string(),
  verdict: GoalVerdict.nullable(),
})
/** How far a conversation is with its goal; the value of a state update with the key `goal`. */
export type GoalStatus = z.infer<typeof GoalStatus>
