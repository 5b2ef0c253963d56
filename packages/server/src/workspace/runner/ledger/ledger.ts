/**
 * Record of the calls of this runner and their results, by call id.
 *
 * Invariants
 *   L1. The intent to start a call is on disk before its process or command begins. After a crash, a call that may have
 *       begun is `unknown`; only a call that did not begin is `absent`.
 *   L2. A call is begun at most once; a repeated request gets the same entry.
 *   L3. A result is recorded before it is sent.
 *   L4. Results and outputs are on disk; memory holds only their positions. A result that the disk refuses is held in memory
 *       until it can be written: the call ends all the same.
 *   L5. Only an acknowledged call is forgotten, a day after it began; the server then has its result.
 *   L6. The id of the ledger stands for its calls being complete. A ledger with a damaged line gets a new id, because the line
 *       may have been the intent of any call.
 */
import { randomUUID } from 'node:crypto'

import type { LedgerEntry } from '../../workspace.ts'
import {
  discardResult,
  end,
  floorOf,
  isBare,
  newCall,
  NOTHING,
  withParts,
  type Call,
  type Line,
  type Result,
} from './call.ts'
import { Journal, type Position } from './journal.ts'
import { join } from 'node:path'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'

/** Milliseconds that an acknowledged call is kept: a store that is restored within this time may not know its result. */
const ACKNOWLEDGED_MS = 24 * 60 * 60 * 1_000
/** Outputs in files, per conversation. A call whose observation is not stored yet is one of the newest. */
const MAX_SPILLED = 16
/** Name of the journal of calls in the folder of the runner. */
export const LEDGER_FILE = 'ledger.ndjson'
const COMPACT_BYTES = 16 * 1024 * 1024

export class Ledger {
  readonly #journal: Journal
  readonly #outputs: string
  readonly #calls = new Map<string, Map<string, Call>>()
  readonly #epochs = new Map<string, { epoch: number; at: number }>()
  /** Ended calls whose results are not on disk. */
  readonly #owed = new Set<() => void>()
  #id: string | null = null
  #floor = 0
  #compactAt = COMPACT_BYTES

  /** True when an earlier runner left calls without an end: processes of it may still be alive. */
  readonly wasInterrupted: boolean
  /** Another id than the one that a server knows: calls that the server knows may be missing here (L6). */
  readonly id: string

  constructor(home: string) {
    this.#outputs = join(home, 'out')
    mkdirSync(this.#outputs, { recursive: true, mode: 0o700 })
    this.#journal = new Journal(join(home, LEDGER_FILE))
    const { isDamaged } = this.#load()
    if (isDamaged) this.#id = null
    this.wasInterrupted = this.#loseOpenCalls() || isDamaged
    this.id = this.#id ??= randomUUID()
    this.#compact()
    this.#tidyOutputs()
  }

  /** Folder of outputs that are too long for a line. */
  get outputs(): string {
    return this.#outputs
  }

  #load(): { isDamaged: boolean } {
    let isDamaged = false
    for (const { record, position } of this.#journal.lines()) {
      if (record === undefined) isDamaged = true
      else this.#apply(record as Line, position)
    }
    return { isDamaged }
  }

  #apply(line: Line, position: Position): void {
    switch (line.t) {
      case 'ledger':
        this.#id = line.id
        return
      case 'floor':
        this.#floor = Math.max(this.#floor, line.epoch)
        return
      case 'claim':
        this.#claimed(line)
        return
      case 'begin':
        this.#of(line.conversation).set(line.call, newCall(line.at))
        return
      case 'end': {
        const call = this.#calls.get(line.conversation)?.get(line.call)
        if (call !== undefined) end(call, line.at, position, line.result)
        return
      }
      case 'acknowledge':
        for (const id of line.calls) {
          const call = this.#calls.get(line.conversation)?.get(id)
          if (call !== undefined) call.isAcknowledged = true
        }
        return
      case 'release':
        this.#calls.delete(line.conversation)
        this.#epochs.delete(line.conversation)
        return
      default:
        line satisfies never
    }
  }

  /** Marks the calls that an earlier runner left without an end. Returns whether there are any. */
  #loseOpenCalls(): boolean {
    let hasLost = false
    for (const calls of this.#calls.values()) {
      for (const call of calls.values()) {
        if (call.ended_at !== null) continue
        call.isLost = true
        hasLost = true
      }
    }
    return hasLost
  }

  #claimed({ conversation, epoch, at }: Extract<Line, { t: 'claim' }>): void {
    this.#epochs.set(conversation, { epoch, at })
    this.#floor = Math.max(this.#floor, floorOf(epoch))
  }

  /** Requests with an older epoch are refused: the newest that claimed the conversation, or the first of the newest server. */
  epochOf(conversation: string): number {
    return Math.max(this.#epochs.get(conversation)?.epoch ?? 0, this.#floor)
  }

  claim(conversation: string, epoch: number): void {
    const line = { t: 'claim', conversation, epoch, at: Date.now() } as const
    this.#journal.append(line satisfies Line)
    this.#claimed(line)
  }

  /**
   * Writes the intent to start a call. Resolves when it is on disk (L1); a call without an effect does not wait for that.
   * @throws the system's error when the intent cannot be made durable; the call then must not begin.
   */
  async begin(conversation: string, call: string, hasEffect: boolean): Promise<void> {
    this.#writeOwed()
    if (this.#journal.mustRewrite) this.#compact()
    const at = Date.now()
    this.#journal.append({ t: 'begin', conversation, call, at } satisfies Line)
    const calls = this.#of(conversation)
    const begun = newCall(at)
    calls.set(call, begun)
    if (!hasEffect) return
    try {
      await this.#journal.durable()
    } catch (error) {
      // A repeated request may begin it: it did not begin here. A later runner that finds the line reports it as unknown.
      if (calls.get(call) === begun) calls.delete(call)
      throw error
    }
  }

  began(conversation: string, call: string, pid: number | null): void {
    const known = this.#calls.get(conversation)?.get(call)
    if (known !== undefined) known.pid = pid
  }

  /** Records the result of a call (L3), unless the conversation was released meanwhile. Never throws for a full disk (L4). */
  end(conversation: string, call: string, result: Result): void {
    const known = this.#calls.get(conversation)?.get(call)
    if (known === undefined) return discardResult(this.#outputs, result)
    const at = Date.now()
    const write = () => {
      // Released, or begun anew, meanwhile.
      if (this.#calls.get(conversation)?.get(call) !== known) return
      const position = this.#journal.append({ t: 'end', conversation, call, at, result } satisfies Line)
      end(known, at, position, result)
    }
    try {
      this.#writeOwed()
      write()
      if (known.spills) this.#prune(conversation)
      if (this.#journal.size > this.#compactAt) this.#compact()
    } catch {
      // The disk is full or has failed. The next call that can write also writes this result.
      if (known.result !== null) return
      known.ended_at = at
      known.held = result
      this.#owed.add(write)
    }
  }

  /** Writes results that the disk refused earlier. @throws the system's error while it still does. */
  #writeOwed(): void {
    for (const write of this.#owed) {
      write()
      this.#owed.delete(write)
    }
  }

  entry(conversation: string, call: string): LedgerEntry {
    const known = this.#calls.get(conversation)?.get(call)
    if (known === undefined) return { state: 'absent' }
    if (known.isLost) return { state: 'unknown' }
    const started_at = new Date(known.begun_at).toISOString()
    const result = this.#resultOf(known)
    if (known.ended_at === null || result === null) return { state: 'running', pid: known.pid ?? -1, started_at }
    const { exit_code, signal } = result
    return { state: 'exited', exit_code, signal, started_at, ended_at: new Date(known.ended_at).toISOString() }
  }

  /** The result of an ended call, or null. */
  result(conversation: string, call: string): Result | null {
    const known = this.#calls.get(conversation)?.get(call)
    return known === undefined ? null : this.#resultOf(known)
  }

  #resultOf({ result, held }: Call): Result | null {
    return result === null ? held : this.#read(result)
  }

  /**
   * Acknowledges calls whose results are stored elsewhere. Their outputs are removed, because they may hold secrets; their exits
   * stay on record for a while (L5). A crash in between leaves the output in the journal until it is rewritten.
   */
  acknowledge(conversation: string, ids: readonly string[]): void {
    const calls = this.#calls.get(conversation)
    const known = ids.flatMap((id) => withParts(id, calls)).filter(([, call]) => !call.isAcknowledged)
    if (known.length === 0) return
    this.#journal.append({ t: 'acknowledge', conversation, calls: known.map(([id]) => id) } satisfies Line)
    for (const [id, call] of known) {
      call.isAcknowledged = true
      this.#bare(conversation, id, call)
    }
  }

  /** Replaces a result by one without output. */
  #bare(conversation: string, id: string, call: Call): void {
    if (call.ended_at === null || call.result === null) return
    const position = call.result
    const result = this.#read(position)
    if (isBare(result)) return
    this.#discardSpill(call)
    const bare = { ...result, stdout: NOTHING, stderr: result.stderr === null ? null : NOTHING }
    call.result = this.#journal.append({ t: 'end', conversation, call: id, at: call.ended_at, result: bare })
    this.#journal.blank(position)
  }

  /** Removes a conversation: its id may be used again, by a conversation whose epochs begin anew. */
  release(conversation: string): void {
    const calls = this.#calls.get(conversation)
    const hadEpoch = this.#epochs.delete(conversation)
    if (calls === undefined && !hadEpoch) return
    for (const call of calls?.values() ?? []) this.#discardSpill(call)
    this.#calls.delete(conversation)
    this.#journal.append({ t: 'release', conversation } satisfies Line)
  }

  close(): void {
    this.#journal.close()
  }

  #of(conversation: string): Map<string, Call> {
    const known = this.#calls.get(conversation)
    if (known !== undefined) return known
    const calls = new Map<string, Call>()
    this.#calls.set(conversation, calls)
    return calls
  }

  #read(position: Position): Result {
    return (this.#journal.readAt(position) as Extract<Line, { t: 'end' }>).result
  }

  #discardSpill(call: Call): void {
    if (call.spills && call.result !== null) discardResult(this.#outputs, this.#read(call.result))
    call.spills = false
  }

  /** Removes the output files of all but the newest calls. */
  #prune(conversation: string): void {
    const spilled = [...(this.#calls.get(conversation)?.values() ?? [])].filter((call) => call.spills)
    for (const call of spilled.slice(0, -MAX_SPILLED)) this.#discardSpill(call)
  }

  /** Rewrites the journal without what can be forgotten (L5). */
  #compact(): void {
    this.#forgetAcknowledged(Date.now() - ACKNOWLEDGED_MS)
    const records: Line[] = [
      { t: 'ledger', id: this.id },
      { t: 'floor', epoch: this.#floor },
    ]
    const owners: (Call | null)[] = [null, null]
    const keep = (line: Line, call: Call | null) => {
      records.push(line)
      owners.push(call)
    }
    for (const [conversation, { epoch, at }] of this.#epochs) keep({ t: 'claim', conversation, epoch, at }, null)
    for (const [conversation, calls] of this.#calls) {
      for (const [id, call] of calls) {
        keep({ t: 'begin', conversation, call: id, at: call.begun_at }, null)
        if (call.result !== null && call.ended_at !== null) {
          keep({ t: 'end', conversation, call: id, at: call.ended_at, result: this.#read(call.result) }, call)
        }
      }
      const acknowledged = [...calls].filter(([, call]) => call.isAcknowledged).map(([id]) => id)
      if (acknowledged.length > 0) keep({ t: 'acknowledge', conversation, calls: acknowledged }, null)
    }
    const positions = this.#journal.rewrite(records)
    for (const [index, call] of owners.entries()) {
      if (call !== null) call.result = positions[index] ?? null
    }
    this.#compactAt = Math.max(COMPACT_BYTES, this.#journal.size * 2)
  }

  /** Forgets acknowledged calls that began before `begunBefore`, and epochs that the floor includes. */
  #forgetAcknowledged(begunBefore: number): void {
    for (const [conversation, calls] of this.#calls) {
      for (const [id, call] of calls) {
        const isOver = call.ended_at !== null || call.isLost
        if (!isOver || !call.isAcknowledged || call.begun_at >= begunBefore) continue
        this.#discardSpill(call)
        calls.delete(id)
      }
      if (calls.size === 0) this.#calls.delete(conversation)
    }
    for (const [conversation, { epoch }] of this.#epochs) if (epoch < this.#floor) this.#epochs.delete(conversation)
  }

  /** Removes output files without an entry, which a crash during a command leaves behind. */
  #tidyOutputs(): void {
    const named = new Set<string>()
    for (const calls of this.#calls.values()) {
      for (const call of calls.values()) {
        if (!call.spills || call.result === null) continue
        const { stdout, stderr } = this.#read(call.result)
        for (const sealed of [stdout, stderr]) if (sealed?.kind === 'file') named.add(sealed.name)
      }
    }
    for (const name of readdirSync(this.#outputs)) {
      if (!named.has(name)) rmSync(join(this.#outputs, name), { force: true })
    }
  }
}
