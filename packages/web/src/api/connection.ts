/**
 * Whether the server answers. The first call without an answer begins to ask it again, with growing pauses, until it answers.
 * Answers to other calls do not end this state: a call that never gets an answer would begin and end it without a pause.
 */
import { useSyncExternalStore } from 'react'

export type Connection = {
  /** Milliseconds since 1970 of the first missing answer; null while the server answers. */
  readonly downSince: number | null
  /** Milliseconds since 1970 of the next attempt; null during one. */
  readonly nextTryAt: number | null
}

const UP: Connection = { downSince: null, nextTryAt: null }
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000]

/** Milliseconds without a missing answer after which the pauses begin again with the shortest one. */
const STEADY_MS = 30_000

let state = UP
let failures = 0
/** Milliseconds since 1970 of the last end of a missing connection. */
let upSince = -Infinity
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

/** A call or a socket had no answer. */
export function reportDown(): void {
  if (state.downSince !== null) return
  const now = Date.now()
  if (now - upSince > STEADY_MS) failures = 0
  waitFrom(now)
}

/** Asks the server now. */
export async function tryNow(): Promise<void> {
  const { downSince } = state
  if (downSince === null) return
  clearTimeout(timer)
  set({ downSince, nextTryAt: null })
  const answer = await fetch('/alive', { credentials: 'omit' }).catch(() => null)
  if (answer?.ok !== true) return waitFrom(downSince)
  upSince = Date.now()
  set(UP)
}

/** Asks at once when the browser reports a network, or the person returns to the page. */
export function watchConnection(): void {
  const ask = (): void => void tryNow()
  addEventListener('online', ask)
  addEventListener('pageshow', ask)
  document.addEventListener('visibilitychange', ask)
}

export const useConnection = (): Connection => useSyncExternalStore(onConnectionChange, () => state)

/** Calls `listener` after each change, until the result is called. */
export function onConnectionChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The present state. */
export const connection = (): Connection => state

function waitFrom(downSince: number): void {
  const pause = PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]!
  failures += 1
  timer = setTimeout(() => void tryNow(), pause)
  set({ downSince, nextTryAt: Date.now() + pause })
}

function set(next: Connection): void {
  state = next
  for (const listener of listeners) listener()
}
