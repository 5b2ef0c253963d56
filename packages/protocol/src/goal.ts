/**
 * A goal: the conversation continues until a judge decides that it is reached. Source: agent-core.md 3.7;
 * agent-server-wire.md 1.5.
 */
import { z } from 'zod'

export const GoalVerdict = z.object({
  /** From 0 (nothing is done) to 1 (everything is done). */
  score: z.number(),
  complete: z.boolean(),
  /** The missing part, as text for the agent. */
  missing: z.string(),
})
/** The latest decision of the goal judge. */
export type GoalVerdict = z.infer<typeof GoalVerdict>

export const GoalStatus = z.object({
  active: z.boolean(),
  status: z.enum(['running', 'complete', 'capped', 'interrupted']),
  /** Decisions so far. */
  iteration: z.int(),
  max_iterations: z.int(),
  objective: z.string(),
  verdict: GoalVerdict.nullable(),
})
/** Progress towards a goal; the value of a state update with the key `goal`. */
export type GoalStatus = z.infer<typeof GoalStatus>
