/** Whether a view has to become shorter, and which part of it goes. Pure. Source: agent-core.md 3.2. */
import type { LLMSummarizingCondenser, TreeEvent } from '@parley/protocol'
import { manipulationIndices, nextManipulationIndex } from '../native/view-properties.ts'
import type { Situation } from './condenser.ts'

export type Shape = Pick<LLMSummarizingCondenser, 'max_size' | 'keep_first' | 'max_tokens' | 'minimum_progress'>

/** `request` and `tokens` allow no delay; `events` alone does. */
export type Reason = 'request' | 'tokens' | 'events'

/** Positions in the view: `start` inclusive, `end` exclusive. */
export type Range = { start: number; end: number }

/** Tokens that a view may have: what the configuration says or what the model takes, whichever is less; null: any number. */
export function tokenLimit({ max_tokens }: Pick<Shape, 'max_tokens'>, inputLimit: number | null): number | null {
  if (max_tokens === null || inputLimit === null) return max_tokens ?? inputLimit
  return Math.min(max_tokens, inputLimit)
}

/**
 * Why the view has to become shorter; empty when it need not. A limit that the tools and the kept events alone exceed is no
 * reason: forgetting all else with every step would not meet it.
 */
export function reasonsFor(situation: Situation, shape: Shape): ReadonlySet<Reason> {
  const { view, isRequested, inputLimit, meter } = situation
  const limit = tokenLimit(shape, inputLimit)
  const reasons = new Set<Reason>()
  if (isRequested) reasons.add('request')
  if (limit !== null && meter.view(view) > limit && fixedTokens(situation, shape) < limit) reasons.add('tokens')
  if (view.length > shape.max_size) reasons.add('events')
  return reasons
}

/** The part that goes: after what is always kept, up to a tail that is short enough for every reason. Null: not worth it. */
export function softRange(situation: Situation, shape: Shape, reasons: ReadonlySet<Reason>): Range | null {
  const { view } = situation
  const tail = Math.min(...[...reasons].map((reason) => tailFor(reason, situation, shape)))
  const indices = manipulationIndices(view)
  const start = nextManipulationIndex(indices, keptFirst(view, shape))
  const end = nextManipulationIndex(indices, view.length - tail)
  if (start === undefined || end === undefined) return null
  return isProgress(view.slice(start, end), shape.minimum_progress * view.length) ? { start, end } : null
}

/** Everything but the system prompt and calls that still wait (F34). Null: there is nothing else. */
export function hardRange(view: readonly TreeEvent[]): Range | null {
  const indices = manipulationIndices(view)
  const start = nextManipulationIndex(indices, promptLength(view))
  const end = indices.at(-1)
  if (start === undefined || end === undefined) return null
  return isProgress(view.slice(start, end), 1) ? { start, end } : null
}

const keptFirst = (view: readonly TreeEvent[], { keep_first }: Shape) => Math.max(keep_first, promptLength(view))

/** Tokens of what is never forgotten, the schemas of the tools among it. */
const fixedTokens = ({ view, meter }: Situation, shape: Shape) => meter.view(view.slice(0, keptFirst(view, shape)))

const promptLength = ([first]: readonly TreeEvent[]): number => (first?.kind === 'SystemPromptEvent' ? 1 : 0)

/** Putting one summary in the place of another would never end. */
function isProgress(forgotten: readonly TreeEvent[], least: number): boolean {
  return forgotten.length >= least && forgotten.some(({ kind }) => kind !== 'CondensationSummaryEvent')
}

/** Events at the end that may stay. */
function tailFor(reason: Reason, situation: Situation, shape: Shape): number {
  const { view, meter } = situation
  const keep = keptFirst(view, shape)
  switch (reason) {
    case 'events':
      return Math.floor(shape.max_size / 2) - shape.keep_first - 1
    case 'tokens':
      return lightTail(situation, keep, target(tokenLimit(shape, situation.inputLimit)!, fixedTokens(situation, shape)))
    case 'request':
      // Half of the events can hold nearly all of the text.
      return Math.min(
        Math.floor(view.length / 2) - shape.keep_first - 1,
        lightTail(situation, keep, target(meter.view(view), fixedTokens(situation, shape))),
      )
  }
}

/** Half of the limit; where what always stays takes much of that, half of the rest. */
const target = (limit: number, fixed: number) => (fixed < limit / 4 ? limit / 2 : (limit + fixed) / 2)

/** The longest tail with which the whole stays below `target` tokens; 0 when even none at all does not help. */
function lightTail({ view, meter }: Situation, keep: number, target: number): number {
  let left = meter.view(view)
  for (const [index, event] of view.entries()) {
    if (index < keep) continue
    if (left < target) return view.length - index
    left -= meter.event(event)
  }
  return 0
}
