/** The cached result of a log, as the store keeps it beside the events. */
import { EMPTY_STATE, REDUCER_VERSION, type ConversationState } from '@parley/protocol'
import type { CachedState } from '../../storage/index.ts'
import type { ViewCheckpoint } from '../branch/view.ts'

export type CachedLog = { state: ConversationState; view: ViewCheckpoint | null }

/** Returns a state and its view as the store keeps them. */
export function writeCachedLog({ state, view }: CachedLog): CachedState {
  return { seq: state.seq, json: JSON.stringify({ reducer: REDUCER_VERSION, state, view }) }
}

/** Null when there is none, or when another version of the reducer computed it: the log then gives the state again. */
export function readCachedLog(cached: CachedState | null | undefined): CachedLog | null {
  if (cached === null || cached === undefined) return null
  const { reducer, state, view } = parsed(cached.json)
  return reducer === REDUCER_VERSION ? { state, view } : null
}

/** A damaged text counts as none, because the log is complete without it. */
function parsed(json: string): CachedLog & { reducer?: number } {
  try {
    return JSON.parse(json) as CachedLog & { reducer?: number }
  } catch {
    return { reducer: 0, state: EMPTY_STATE, view: null }
  }
}
