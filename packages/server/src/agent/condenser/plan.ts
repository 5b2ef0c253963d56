/** Decides whether a view has to be condensed, and which part of it. Pure. Source: agent-core.md 3.2. */
import type { LLMSummarizingCondenser, TreeEvent } from '@parley/protocol'
import { manipulationIndices, nextManipulationIndex, thinkingIndices } from '../view/view-properties.ts'
import type { CondenserInput } from './condenser.ts'

export type CondenserLimits = Pick<
  LLMSummarizingCondenser,
  'max_size' | 'keep_first' | 'max_tokens' | 'minimum_progress'
>

/** `request` and `tokens` are urgent; `events` is not. */
export type Reason = 'request' | 'tokens' | 'events'

/** Positions in the view: `start` inclusive, `end` exclusive. */
export type Range = { start: number; end: number }

/** Tokens for the instruction behind a view, and for the step with which the view exceeds its limit. */
const INSTRUCTION_TOKENS = 4_096

/**
 * Token limit of a view: the lowest of those of the configuration, of the model, and of a request for a summary over the view; null
 * without a limit.
 */
export function tokenLimit(
  { max_tokens }: Pick<CondenserLimits, 'max_tokens'>,
  { inputLimit, next }: Pick<CondenserInput, 'inputLimit' | 'next'>,
): number | null {
  const whole = next?.limit ?? null
  // In a small window the instruction would take too much of every view.
  const withInstruction = whole === null || INSTRUCTION_TOKENS > whole / 10 ? null : whole - INSTRUCTION_TOKENS
  const limits = [max_tokens, inputLimit, withInstruction].filter((limit) => limit !== null)
  return limits.length === 0 ? null : Math.min(...limits)
}

/**
 * The reasons to condense the view; empty for none. A limit that the tools and the kept events alone exceed is not a reason,
 * because forgetting everything else with every step would not meet it.
 */
export function reasonsFor(input: CondenserInput, limits: CondenserLimits): ReadonlySet<Reason> {
  const { view, isRequested, meter } = input
  const limit = tokenLimit(limits, input)
  const reasons = new Set<Reason>()
  if (isRequested) reasons.add('request')
  if (limit !== null && meter.view(view) > limit && fixedTokens(input, limits) < limit) reasons.add('tokens')
  if (view.length > limits.max_size) reasons.add('events')
  return reasons
}

/**
 * The range to forget: after the events that are always kept, up to a tail that is short enough for every reason. Null when it
 * is too small.
 */
export function softRange(input: CondenserInput, limits: CondenserLimits, reasons: ReadonlySet<Reason>): Range | null {
  const { view } = input
  const tail = Math.min(...[...reasons].map((reason) => tailFor(reason, input, limits)))
  const indices = manipulationIndices(view)
  const start = nextManipulationIndex(indices, keptFirst(view, limits))
  const end = tailStart(view, indices, tail)
  if (start === undefined || end === undefined) return null
  return isProgress(view.slice(start, end), limits.minimum_progress * view.length) ? { start, end } : null
}

/** The beginning of the tail: where the model can think on, if at least half of the tail is behind it, else the first allowed position. */
function tailStart(view: readonly TreeEvent[], indices: readonly number[], tail: number): number | undefined {
  const from = view.length - tail
  const thinking = nextManipulationIndex(thinkingIndices(view, indices), from)
  if (thinking !== undefined && thinking <= from + tail / 2) return thinking
  return nextManipulationIndex(indices, from)
}

/** Everything but the system prompt and calls that still wait (F34). Null when there is nothing else. */
export function hardRange(view: readonly TreeEvent[]): Range | null {
  const indices = manipulationIndices(view)
  const start = nextManipulationIndex(indices, promptLength(view))
  const end = indices.at(-1)
  if (start === undefined || end === undefined) return null
  return isProgress(view.slice(start, end), 1) ? { start, end } : null
}

const keptFirst = (view: readonly TreeEvent[], { keep_first }: CondenserLimits) =>
  Math.max(keep_first, promptLength(view))

/** Tokens of everything that is never forgotten, including the schemas of the tools. */
const fixedTokens = ({ view, meter }: CondenserInput, limits: CondenserLimits) =>
  meter.view(view.slice(0, keptFirst(view, limits)))

const promptLength = ([first]: readonly TreeEvent[]): number => (first?.kind === 'SystemPromptEvent' ? 1 : 0)

/** Returns whether the range is large enough. Replacing a lone summary by another would never end. */
function isProgress(forgotten: readonly TreeEvent[], least: number): boolean {
  return forgotten.length >= least && forgotten.some(({ kind }) => kind !== 'CondensationSummaryEvent')
}

/** Number of events at the end that stay. */
function tailFor(reason: Reason, input: CondenserInput, limits: CondenserLimits): number {
  const { view, meter } = input
  const keep = keptFirst(view, limits)
  switch (reason) {
    case 'events':
      return Math.floor(limits.max_size / 2) - limits.keep_first - 1
    case 'tokens':
      return lightTail(input, keep, target(tokenLimit(limits, input)!, fixedTokens(input, limits)))
    case 'request':
      // Half of the events can hold nearly all of the text.
      return Math.min(
        Math.floor(view.length / 2) - limits.keep_first - 1,
        lightTail(input, keep, target(meter.view(view), fixedTokens(input, limits))),
      )
  }
}

/** Half of the limit; when the fixed tokens take much of that, half of the rest. */
const target = (limit: number, fixed: number) => (fixed < limit / 4 ? limit / 2 : (limit + fixed) / 2)

/** The longest tail with which the view stays below `target` tokens; 0 when no tail does. */
function lightTail({ view, meter }: CondenserInput, keep: number, target: number): number {
  let left = meter.view(view)
  for (const [index, event] of view.entries()) {
    if (index < keep) continue
    if (left < target) return view.length - index
    left -= meter.event(event)
  }
  return 0
}
