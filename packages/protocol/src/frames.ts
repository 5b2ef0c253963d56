/** Frames of our own resumable streams: what a reader that resumes by `seq` receives. */
import { z } from 'zod'
import type { WireEvent } from './wire-event.ts'

const Wire = z.custom<WireEvent>((value) => typeof value === 'object' && value !== null && 'kind' in value)

export const EventFrame = z.object({ type: z.literal('event'), seq: z.int().min(1), event: Wire })
/** A stored event as the wire shows it; each `seq` comes once, in order. */
export type EventFrame = z.infer<typeof EventFrame>

export const DeltaFrame = z.object({
  type: z.literal('delta'),
  content: z.string().optional(),
  reasoning_content: z.string().optional(),
})
/** A live piece of an answer that is still being written. */
export type DeltaFrame = z.infer<typeof DeltaFrame>

export const SnapshotFrame = z.object({
  type: z.literal('snapshot'),
  seq: z.int().min(0),
  state: z.record(z.string(), z.unknown()),
})
/** The state as a whole, as of `seq`. */
export type SnapshotFrame = z.infer<typeof SnapshotFrame>

export const RefusedFrame = z.object({ type: z.literal('refused'), reason: z.string() })
/** The last frame of a stream that will not go on; asking again does not help. */
export type RefusedFrame = z.infer<typeof RefusedFrame>

export const Frame = z.discriminatedUnion('type', [EventFrame, DeltaFrame, SnapshotFrame, RefusedFrame])
export type Frame = z.infer<typeof Frame>
