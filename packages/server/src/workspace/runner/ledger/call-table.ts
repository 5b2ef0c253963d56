/** The calls of a ledger in memory, as its lines describe them. */
import { beginLine, end, floorOf, newCall, type Call, type Line } from './call.ts'
import type { Position } from './journal.ts'

/** A call with its names. */
export type Listed = { conversation: string; id: string; call: Call }

export class CallTable {
  readonly #calls = new Map<string, Map<string, Call>>()
  readonly #epochs = new Map<string, { epoch: number; at: number }>()
  #floor = 0
  /** Id of the ledger; null before its line was read. */
  id: string | null = null
  /** Conversations that were released while there were ledgers of other runners: those may name them, and must not bring them back. */
  readonly removed = new Set<string>()

  apply(line: Line, position: Position): void {
    switch (line.t) {
      case 'ledger':
        this.id = line.id
        return
      case 'floor':
        this.#floor = Math.max(this.#floor, line.epoch)
        return
      case 'claim':
        return this.claim(line)
      case 'begin':
        return this.add(line.conversation, line.call, newCall(line.at, line.by))
      case 'end': {
        const call = this.find(line.conversation, line.call)
        if (call !== undefined) end(call, line.at, position, line.result)
        return
      }
      case 'acknowledge':
        for (const id of line.calls) {
          const call = this.find(line.conversation, id)
          if (call !== undefined) call.isAcknowledged = true
        }
        return
      case 'release':
        this.removed.add(line.conversation)
        this.release(line.conversation)
        return
      default:
        line satisfies never
    }
  }

  claim({ conversation, epoch, at }: Extract<Line, { t: 'claim' }>): void {
    this.#epochs.set(conversation, { epoch, at })
    this.#floor = Math.max(this.#floor, floorOf(epoch))
  }

  /** The newest epoch that claimed a conversation, or undefined. */
  claimOf(conversation: string): number | undefined {
    return this.#epochs.get(conversation)?.epoch
  }

  /** Requests with an older epoch are refused: the newest that claimed the conversation, or the first of the newest server. */
  epochOf(conversation: string): number {
    return Math.max(this.#epochs.get(conversation)?.epoch ?? 0, this.#floor)
  }

  add(conversation: string, id: string, call: Call): void {
    const calls = this.#calls.get(conversation) ?? new Map<string, Call>()
    this.#calls.set(conversation, calls.set(id, call))
  }

  find(conversation: string, id: string): Call | undefined {
    return this.#calls.get(conversation)?.get(id)
  }

  /** The calls of a conversation; undefined when there is none. */
  of(conversation: string): ReadonlyMap<string, Call> | undefined {
    return this.#calls.get(conversation)
  }

  *[Symbol.iterator](): Generator<Listed> {
    for (const [conversation, calls] of this.#calls) for (const [id, call] of calls) yield { conversation, id, call }
  }

  remove(conversation: string, id: string): void {
    const calls = this.#calls.get(conversation)
    calls?.delete(id)
    if (calls?.size === 0) this.#calls.delete(conversation)
  }

  /** True for a conversation with a call or an epoch. */
  knows(conversation: string): boolean {
    return this.#calls.has(conversation) || this.#epochs.has(conversation)
  }

  /** Removes a conversation with its epoch. */
  release(conversation: string): void {
    this.#epochs.delete(conversation)
    this.#calls.delete(conversation)
  }

  /** Marks the open calls that are selected as lost. Returns whether there are any. */
  lose(isSelected: (call: Call) => boolean): boolean {
    let hasLost = false
    for (const { call } of this) {
      if (call.ended_at !== null || !isSelected(call)) continue
      call.isLost = true
      call.over?.resolve()
      hasLost = true
    }
    return hasLost
  }

  /** Forgets the epochs that the floor includes. */
  forgetEpochs(): void {
    for (const [conversation, { epoch }] of this.#epochs) if (epoch < this.#floor) this.#epochs.delete(conversation)
  }

  /** The lines of this table, in an order that `apply` accepts. `endLine` reads the end of a call whose result is on disk. */
  *lines(endLine: (listed: Listed) => Line | null): Generator<{ line: Line; ended: Call | null }> {
    yield { line: { t: 'floor', epoch: this.#floor }, ended: null }
    for (const conversation of this.removed) yield { line: { t: 'release', conversation }, ended: null }
    for (const [conversation, claim] of this.#epochs)
      yield { line: { t: 'claim', conversation, ...claim }, ended: null }
    for (const [conversation, calls] of this.#calls) {
      for (const [id, call] of calls) {
        yield { line: beginLine(conversation, id, call), ended: null }
        const line = endLine({ conversation, id, call })
        if (line !== null) yield { line, ended: call }
      }
      const acknowledged = [...calls].filter(([, call]) => call.isAcknowledged).map(([id]) => id)
      if (acknowledged.length > 0) yield { line: { t: 'acknowledge', conversation, calls: acknowledged }, ended: null }
    }
  }
}
