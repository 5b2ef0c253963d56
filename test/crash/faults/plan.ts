/** Random sequences of faults, repeatable from their seed. */
import { random } from '../../../packages/server/testing/random-history.ts'

export const FAULTS = [
  'server killed',
  'server terminated',
  'server frozen',
  'disk of the server full',
  'disk of the runner full',
  'store locked',
  'runner killed',
  'runner hung',
  'clock set forward',
  'clock set back',
] as const
export type FaultKind = (typeof FAULTS)[number]

export type Fault = {
  kind: FaultKind
  /** Milliseconds between the beginning of the fault before it and its own. */
  afterMs: number
  /** Milliseconds until it ends; meanwhile the next one may begin. */
  lastsMs: number
  /** From 0 to 1: how far a clock is set, or how much still fits on the disk. */
  amount: number
}

const LONGEST_GAP_MS = 900

/** Longest duration in milliseconds of the faults that have one. */
const LONGEST_MS: Partial<Record<FaultKind, number>> = {
  'server frozen': 1_500,
  'disk of the server full': 2_500,
  'disk of the runner full': 2_500,
  'store locked': 4_500,
  'runner hung': 9_000,
}

/** Faults after which the outcome of a call may be unknown. After all others it is known. */
export const LOSES_OUTCOMES: readonly FaultKind[] = [
  'runner killed',
  'runner hung',
  'disk of the runner full',
  'disk of the server full',
]

/** The first `count` faults of a seed. A seed has some of the kinds; each occurs once before any occurs twice. */
export function planOf(seed: number, count: number): Fault[] {
  const next = random(seed * 15_485_863)
  const some = FAULTS.filter(() => next() < 0.6)
  const kinds = some.length === 0 ? FAULTS : some
  const faults: Fault[] = []
  let deck: FaultKind[] = []
  while (faults.length < count) {
    if (deck.length === 0) deck = [...kinds]
    const [kind] = deck.splice(Math.floor(next() * deck.length), 1)
    faults.push({
      kind: kind!,
      // Squared, because two faults at almost the same time find more than two that are far apart.
      afterMs: Math.round(next() ** 2 * LONGEST_GAP_MS),
      lastsMs: Math.round((0.05 + 0.95 * next()) * (LONGEST_MS[kind!] ?? 0)),
      amount: next(),
    })
  }
  return faults
}
