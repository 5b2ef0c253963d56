/** Frames of Parley's own resumable streams, for a reader that resumes by `seq`. */
import { z } from 'zod'
import type { WireEvent } from './wire-event.ts'

const Wire = z.custom<WireEvent>((value) => typeof value === 'object' && value !== null && 'kind' in value)

export const EventFrame = z.object({ type: z.literal('event'), seq: z.int().min(1), event: Wire })
/** A stored event in the form of the wire; each `seq` comes once, in order. */
export type EventFrame = z.infer<typeof EventFrame>

export const DeltaFrame = z.object({
  type: z.literal('delta'),
  content: z.string().optional(),
  reasoning_content: z.string().optional(),
})
/** A part of an answer that is still streaming. */
export type DeltaFrame = z.infer<typeof DeltaFrame>

export const SnapshotFrame = z.object({
  type: z.literal('snapshot'),
  seq: z.int().min(0),
  state: z.record(z.string(), z.unknown()),
})
/** The state as a whole, as of `seq`. */
export type SnapshotFrame = z.infer<typeof SnapshotFrame>

export const RefusedFrame = z.object({ type: z.literal('refused'), reason: z.string() })
/** The last frame of a stream that cannot continue; a new request does not help. */
export type RefusedFrame = z.infer<typeof RefusedFrame>

export const Frame = z.discriminatedUnion('type', [EventFrame, DeltaFrame, SnapshotFrame, RefusedFrame])
export type Frame = z.infer<typeof Frame>
