/** The calls of the ledger: their lines on disk, and their form in memory. */
import { EPOCHS_PER_START } from '../ipc/protocol.ts'
import { discardSealed, type Sealed } from './bounded-output.ts'
import type { Position } from './journal.ts'

/** Everything needed to answer a call again: the final frame, and the output before it. */
export type Result = {
  exit_code: number | null
  signal: string | null
  answer: object
  stdout: Sealed
  stderr: Sealed | null
}

/** Version of the lines. A ledger without one is that of version 0.1.0, whose lines are the same. */
export const FORMAT = 1

/** A line of the journal. */
export type Line =
  | { t: 'ledger'; id: string; format?: number }
  /** Requests with an older epoch are refused in every conversation. */
  | { t: 'floor'; epoch: number }
  | { t: 'claim'; conversation: string; epoch: number; at: number }
  /** `by`: protocol of the runner that executes it; absent: this one. */
  | { t: 'begin'; conversation: string; call: string; at: number; by?: number }
  | { t: 'end'; conversation: string; call: string; at: number; result: Result }
  | { t: 'acknowledge'; conversation: string; calls: readonly string[] }
  | { t: 'release'; conversation: string }

/** A call in memory. */
export type Call = {
  begun_at: number
  pid: number | null
  ended_at: number | null
  result: Position | null
  /** The result while it is not on disk (L4). */
  held: Result | null
  isLost: boolean
  /** Protocol of the other runner that executes it; null: this one. */
  by: number | null
  /** Resolved at its end, for those that wait for a call of another runner. */
  over: PromiseWithResolvers<void> | null
  isAcknowledged: boolean
  spills: boolean
}

/** An output without a byte. */
export const NOTHING: Sealed = { kind: 'inline', data: '', chars: 0 }
const isEmpty = (sealed: Sealed | null): boolean => sealed === null || (sealed.kind === 'inline' && sealed.data === '')
/** Returns whether a result holds no output. */
export const isBare = ({ stdout, stderr }: Result): boolean => isEmpty(stdout) && isEmpty(stderr)

/** A call, and the calls `<id>-0`, `<id>-1`, … that are parts of it. */
export function withParts(id: string, calls: ReadonlyMap<string, Call> | undefined): [string, Call][] {
  const found: [string, Call][] = []
  const add = (name: string) => {
    const call = calls?.get(name)
    if (call !== undefined) found.push([name, call])
    return call !== undefined
  }
  add(id)
  for (let part = 0; add(`${id}-${part}`);) part += 1
  return found
}

export const newCall = (begun_at: number, by: number | null = null): Call => ({
  begun_at,
  pid: null,
  ended_at: null,
  result: null,
  held: null,
  isLost: false,
  by,
  over: null,
  isAcknowledged: false,
  spills: false,
})

/** Applies the end of a call whose result is on disk. */
export function end(call: Call, at: number, position: Position, result: Result): void {
  hold(call, at, result)
  call.result = position
  call.held = null
}

/** Applies the end of a call whose result is not on disk. */
export function hold(call: Call, at: number, result: Result): void {
  call.ended_at = at
  call.held = result
  call.spills = result.stdout.kind === 'file' || result.stderr?.kind === 'file'
  call.over?.resolve()
}

/** The line of the intent to start a call. */
export const beginLine = (conversation: string, id: string, { begun_at, by }: Call): Line => ({
  t: 'begin',
  conversation,
  call: id,
  at: begun_at,
  ...(by === null ? {} : { by }),
})

/** Removes the output files of a result. */
export function discardResult(folder: string, { stdout, stderr }: Result): void {
  discardSealed(folder, stdout)
  if (stderr !== null) discardSealed(folder, stderr)
}

/** The first epoch of the server that an epoch belongs to. */
export const floorOf = (epoch: number): number => epoch - (epoch % EPOCHS_PER_START)
