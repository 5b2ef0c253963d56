/** Condensation of the view. Source: agent-server-wire.md 4.6. */
import { z } from 'zod'
import { EventId } from '../ids.ts'
import { EventSource, orNull, treeFields } from './base.ts'

export const Condensation = z.strictObject({
  kind: z.literal('Condensation'),
  ...treeFields,
  source: EventSource.default('environment'),
  forgotten_event_ids: z.array(EventId).default([]),
  summary: orNull(z.string()),
  /** Index of the summary in the view. */
  summary_offset: orNull(z.int().min(0)),
  llm_response_id: z.string(),
})
/** Events that later views leave out, and the summary that replaces them. */
export type Condensation = z.infer<typeof Condensation>

export const CondensationRequest = z.strictObject({
  kind: z.literal('CondensationRequest'),
  ...treeFields,
  source: EventSource.default('environment'),
})
export type CondensationRequest = z.infer<typeof CondensationRequest>

export const CondensationSummaryEvent = z.strictObject({
  kind: z.literal('CondensationSummaryEvent'),
  ...treeFields,
  source: EventSource.default('environment'),
  summary: z.string(),
})
/** Exists only inside a view; never stored, never sent. */
export type CondensationSummaryEvent = z.infer<typeof CondensationSummaryEvent>
