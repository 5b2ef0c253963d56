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
  /** Identifies the answer while it streams; no stored event has it. Absent in frames of older servers, as the next two are. */
  response_id: z.string().optional(),
  /** Number of the part, from 0: a part is a run of text or of reasoning. */
  part: z.int().optional(),
  /** Characters of the part before this piece. */
  offset: z.int().optional(),
})
/** A part of an answer that is still streaming. */
export type DeltaFrame = z.infer<typeof DeltaFrame>

const PartialCall = z.object({
  /** Number of the call in the answer, from 0. */
  index: z.int(),
  name: z.string(),
  /** Characters of arguments that have been written. */
  chars: z.int(),
})

export const ToolCallFrame = z.object({ type: z.literal('tool_call'), response_id: z.string(), ...PartialCall.shape })
/** A call whose arguments are being written. On the session socket only, as the next one. */
export type ToolCallFrame = z.infer<typeof ToolCallFrame>

export const PartialFrame = z.object({
  type: z.literal('partial'),
  response_id: z.string(),
  parts: z.array(
    z.object({
      part: z.int(),
      kind: z.enum(['content', 'reasoning_content']),
      /** Characters before `text`, which are not kept. */
      offset: z.int(),
      text: z.string(),
    }),
  ),
  tool_calls: z.array(PartialCall),
})
/** The answer that is being written, for a reader that joins; the pieces that follow continue it. */
export type PartialFrame = z.infer<typeof PartialFrame>

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

export const OutputFrame = z.object({
  type: z.literal('output'),
  /** Id of the ActionEvent of the command. */
  action_id: z.string(),
  stream: z.enum(['stdout', 'stderr']),
  /** Characters of the output before `text`. */
  offset: z.int(),
  text: z.string(),
})
/** Output of a command that runs, secrets masked. On the session socket only. */
export type OutputFrame = z.infer<typeof OutputFrame>

export const Frame = z.discriminatedUnion('type', [EventFrame, DeltaFrame, SnapshotFrame, RefusedFrame])
export type Frame = z.infer<typeof Frame>

export const SessionFrame = z.discriminatedUnion('type', [...Frame.options, ToolCallFrame, PartialFrame, OutputFrame])
/** A frame of the session socket. Readers ignore types that they do not know. */
export type SessionFrame = z.infer<typeof SessionFrame>
