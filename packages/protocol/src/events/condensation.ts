/** Condensation of the view. Source: agent-server-wire.md 4.6. */
import { z } from 'zod'
import { EventId } from '../ids.ts'
import { EventSource, orNull, treeFields } from './base.ts'

/** Texts that follow a summary in the view. Source: docs/condensation.md, What is given back. */
export const GivenBack = z.strictObject({
  /** The task list; null when there is none, or it is behind the summary. */
  tasks: z.string().nullable(),
  /** Files in work, the most recently used first; `text` is null where only the path is given. */
  files: z.array(z.strictObject({ path: z.string(), text: z.string().nullable() })),
})
export type GivenBack = z.infer<typeof GivenBack>

export const Condensation = z.strictObject({
  kind: z.literal('Condensation'),
  ...treeFields,
  source: EventSource.default('environment'),
  forgotten_event_ids: z.array(EventId).default([]),
  summary: orNull(z.string()),
  /** Index of the summary in the view. */
  summary_offset: orNull(z.int().min(0)),
  llm_response_id: z.string(),
  /** Not sent to clients. */
  given_back: GivenBack.optional(),
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
  given_back: GivenBack.optional(),
})
/** Exists only inside a view; never stored, never sent. */
export type CondensationSummaryEvent = z.infer<typeof CondensationSummaryEvent>
