/** Plays the steps of the model in every order, and visits each state once. */
import { initial, isFinal, type Bounds, type Guard, type Node, type State } from './model.ts'
import { steps } from './steps.ts'

export type Exploration = {
  states: number
  steps: number
  /** The first fault that was found, with the steps that lead to it; null: none. */
  fault: { what: string; path: string[] } | null
  /** The steps to a state from which the turn cannot end although a node is left; null: there is none. */
  stuck: string[] | null
}

/** Explores the model until a fault is found, or every state was visited. `without`: the guard that is removed. */
export function explore(bounds: Bounds, without: Guard | null = null): Exploration {
  const first = initial(bounds.calls)
  const known = new Map<string, number>([[keyOf(first), 0]])
  // States that were visited are dropped: what is known of them is their key.
  const queue: (State | null)[] = [first]
  const cameFrom: number[] = [-1]
  const names: string[] = ['']
  const finals: number[] = []
  const edges: number[] = []
  const pathTo = (place: number): string[] => {
    const path: string[] = []
    for (let at = place; at > 0; at = cameFrom[at]!) path.unshift(names[at]!)
    return path
  }
  for (let at = 0; at < queue.length; at += 1) {
    const state = queue[at]!
    queue[at] = null
    if (isFinal(state, bounds)) finals.push(at)
    for (const { name, to, fault } of steps(state, bounds, without)) {
      if (fault !== null) {
        const found = { what: fault, path: [...pathTo(at), name] }
        return { states: queue.length, steps: edges.length / 2, fault: found, stuck: null }
      }
      const key = keyOf(to)
      let place = known.get(key)
      if (place === undefined) {
        place = queue.length
        known.set(key, place)
        queue.push(to)
        cameFrom.push(at)
        names.push(name)
      }
      edges.push(at, place)
    }
  }
  const stuck = firstStuck(queue.length, finals, edges)
  return { states: queue.length, steps: edges.length / 2, fault: null, stuck: stuck === null ? null : pathTo(stuck) }
}

/** A state from which no final state can be reached, going back from the final ones; null: there is none. */
function firstStuck(states: number, finals: readonly number[], edges: readonly number[]): number | null {
  // The sources of the edges into each state, one state after another.
  const begins = new Int32Array(states + 1)
  for (let edge = 1; edge < edges.length; edge += 2) begins[edges[edge]! + 1]! += 1
  for (let state = 0; state < states; state += 1) begins[state + 1]! += begins[state]!
  const next = begins.slice()
  const sources = new Int32Array(edges.length / 2)
  for (let edge = 0; edge < edges.length; edge += 2) sources[next[edges[edge + 1]!]!++] = edges[edge]!
  const reaches = new Uint8Array(states)
  for (const state of finals) reaches[state] = 1
  const queue = [...finals]
  for (let at = 0; at < queue.length; at += 1)
    for (const source of sources.subarray(begins[queue[at]!]!, begins[queue[at]! + 1]!)) {
      if (reaches[source] === 1) continue
      reaches[source] = 1
      queue.push(source)
    }
  const stuck = reaches.indexOf(0)
  return stuck === -1 ? null : stuck
}

/** Equal for states that differ only in the numbers of their nodes, which all play the same part. */
function keyOf({ nodes, owner, epoch, log, noted, known, begun, acted }: State): string {
  const codes = nodes.map((node, n) => (n === owner ? 'o' : '') + codeOf(node)).toSorted()
  const stored = log.map((event) => event.epoch)
  return `${codes.join('|')}|${owner === null ? '' : 'o'}${epoch}${stored.join('')}/${noted}${known}${begun.join('')}${acted}`
}

function codeOf({ isUp, lock, fresh, quiet, copy, append, start }: Node): string {
  const flags = `${Number(isUp)}${Number(lock)}${Number(fresh)}${Number(quiet)}`
  const held = copy === null ? '' : `c${copy.epoch}${copy.seq}${copy.loadedSeq}${copy.step}`
  const sent = append === null ? '' : `a${append.epoch}${append.expected}`
  return `${flags}${held}${sent}${start === null ? '' : `s${start.epoch}${start.call}`}`
}
