/**
 * A recorded conversation in the form that can be replayed: the model's answers, the person's messages and the outcome of each
 * call.
 */
import type { ImageContent, TextContent } from '@parley/protocol'

/** Null members are not compared. */
export type ComparedOutcome = {
  refused: boolean
  error: boolean
  exit_code: number | null
  output: string | null
  /** Content of the file that was written. */
  file: string | null
  task_list: string | null
  /** Process ids that may stand in the output. */
  pids: number[]
}

/** `index` is the position in the recording as it was uploaded, from 0. */
type RecordedResult = { index: number; outcome: ComparedOutcome }

export type RecordedCall = {
  index: number
  name: string
  /** JSON text as the model wrote it. */
  arguments: string
  /** The call to make instead when there is no tool of that name. */
  fallback?: { name: string; arguments: string }
  /** Null when the recording has none: then nothing is compared. */
  result: RecordedResult | null
  /** Set when a person or a hook refused the call: then it is not executed here either. */
  refusal: { reason: string; source: 'user' | 'hook' } | null
}

export type RecordedTurn =
  | { by: 'user'; index: number; content: (TextContent | ImageContent)[] }
  | { by: 'agent'; index: number; text: string; reasoning: string | null; calls: RecordedCall[] }

export type Recording = {
  /** Working directory of the recorded conversation; null when unknown. */
  working_dir: string | null
  /** The turns after the first message of the conversation. */
  turns: RecordedTurn[]
}

/**
 * Working directory of recordings in the older format; a repository is a folder below it. Source: conversation-service.md 1.6.
 */
export const V0_ROOT = '/workspace'
