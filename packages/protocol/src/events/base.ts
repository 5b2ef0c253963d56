/** Members of all events. Source: agent-server-wire.md 4.1 and 4.2. */
import { z } from 'zod'
import { EventId } from '../ids.ts'

export const EventSource = z.enum(['agent', 'user', 'environment', 'hook'])
export type EventSource = z.infer<typeof EventSource>

/** The parent of the first event after navigating to the empty tree of a log that is not empty. */
export const ROOT = '__root__'

/** Id of the event before this one on its branch; null for the first event of the log. */
export type ParentId = EventId | typeof ROOT | null
export const ParentId = z
  .string()
  .nullable()
  .default(null)
  .transform((id) => id as ParentId)

/** Members of every event; `timestamp` is UTC with microseconds and no offset. */
export const eventFields = { id: EventId, timestamp: z.string() }

/** Members of a tree event. */
export const treeFields = { ...eventFields, parent_id: ParentId }

/** Nullable; null when absent. */
export const orNull = <T extends z.ZodType>(schema: T) => schema.nullable().default(null)
