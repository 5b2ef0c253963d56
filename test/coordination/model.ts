/**
 * A model of several nodes that share a store and an executor: one conversation with its whole state, and each statement of the store, request to
 * the executor and fault as one step that changes it. `explore.ts` plays the steps in every order.
 *
 * A conversation runs one turn: each call is stored, then begun, then its result is stored. A node that is frozen, slow or cut off takes no step, and
 * wakes up with its next one, so a freeze is no step of its own. Time is modelled by what it makes possible: `fresh` ends before the lock of a node
 * does (N4), and `quiet` ends after the `fresh` of every node that has lost its lock before (N6).
 */

/** How far the model goes: calls of the turn, and times that the conversation gets an owner. */
export type Bounds = { calls: number; epochs: number }

/** What keeps the conversation safe. A test removes one of them, and the exploration must find what goes wrong. */
export const GUARDS = [
  'the store compares the epoch',
  'the store compares the end of the log',
  'the executor refuses older epochs',
  'the executor begins a call once',
  'a call is stored before it begins',
  'only conversations of nodes without a lock are claimed',
  'N4: no call begins without a confirmed lease',
  'N5: a node asks what it still owns when its session is back',
  'N6: nothing is claimed from others within one lease after a session began',
] as const
export type Guard = (typeof GUARDS)[number]

export type Stored = { kind: 'call' | 'result'; call: number; epoch: number }

/** A request on its way: to the store, to append an event; or to the executor, to begin a call. Its sender may be gone. */
export type Append = { epoch: number; expected: number; event: Stored }
export type Start = { epoch: number; call: number }

/**
 * The conversation in the memory of a node. `loadedSeq`: a call up to there is inherited. `step`: how far the node is with its next event or call.
 * `storing`: an append was sent; `permitted`: the lease was confirmed; `noted`: the store has the note that the call is going to be sent; `sent`; `ended`: its
 * outcome is known.
 */
type Copy = {
  epoch: number
  seq: number
  loadedSeq: number
  step: 'rest' | 'storing' | 'permitted' | 'noted' | 'sent' | 'ended'
}

export type Node = {
  /** False: the process has ended. */
  isUp: boolean
  /** The database has its advisory lock. */
  lock: boolean
  /** Less than two thirds of a lease have passed since its lease was confirmed. */
  fresh: boolean
  /** Less than a lease has passed since its session began. */
  quiet: boolean
  copy: Copy | null
  append: Append | null
  start: Start | null
}

export type State = {
  nodes: readonly Node[]
  /** Column `node` of the conversation. */
  owner: number | null
  epoch: number
  log: readonly Stored[]
  /** Calls that have a note. */
  noted: number
  /** The executor: the newest epoch that it knows, and how often each call has begun. */
  known: number
  begun: readonly number[]
  /** The newest epoch that has appended an event or asked the executor. */
  acted: number
}

export type Step = { name: string; to: State; fault: string | null }

export const initial = (calls: number): State => ({
  nodes: Array.from({ length: 3 }, () => ({
    isUp: true,
    lock: true,
    fresh: true,
    quiet: false,
    copy: null,
    append: null,
    start: null,
  })),
  owner: null,
  epoch: 0,
  log: [],
  noted: 0,
  known: 0,
  begun: Array.from({ length: calls }, () => 0),
  acted: 0,
})

/** True when the turn has ended, no node is left, or the bounds allow no further owner. */
export const isFinal = ({ log, begun, nodes, epoch }: State, { epochs }: Bounds): boolean =>
  log.length === 2 * begun.length || nodes.every(({ isUp }) => !isUp) || epoch === epochs
