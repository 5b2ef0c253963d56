/**
 * Record of the calls of this runner and their results, by call id.
 *
 * Invariants
 *   L1. The intent to start a call is on disk before its process or command begins. After a crash, a call that may have
 *       begun is `unknown`; only a call that did not begin is `absent`.
 *   L2. A call is begun at most once; a repeated request gets the same entry.
 *   L3. A result is recorded before it is sent.
 *   L4. Results and outputs are on disk; memory holds only their positions. A result or a claim that the disk refuses is held in
 *       memory until it can be written, at the latest before the next call begins: the call ends, and the claim counts, all the same.
 *   L5. Only an acknowledged call is forgotten, a day after it began; the server then has its result.
 *   L6. The id of the ledger stands for its calls being complete. A ledger with a damaged line gets a new id, because the line
 *       may have been the intent of any call.
 *   L7. A call of a runner of another protocol is here as soon as it is in the ledger of that runner, and stays when that one
 *       is removed. The id of a ledger continues here only if no call can be added to it any more.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerEntry } from '../../workspace.ts'
import { ledgerName, outputsName } from '../ipc/names.ts'
import { PROTOCOL } from '../ipc/protocol.ts'
import {
  beginLine,
  discardResult,
  end,
  FORMAT,
  hold,
  isBare,
  newCall,
  NOTHING,
  withParts,
  type Call,
  type Line,
  type Result,
} from './call.ts'
import { CallTable, type Listed } from './call-table.ts'
import { Journal, type Position } from './journal.ts'
import type { LedgerReader } from './ledger-reader.ts'
import { OwedWrites } from './owed-writes.ts'

/** Milliseconds that an acknowledged call is kept: a store that is restored within this time may not know its result. */
const ACKNOWLEDGED_MS = 24 * 60 * 60 * 1_000
/** Outputs in files, per conversation. A call whose observation is not stored yet is one of the newest. */
const MAX_SPILLED = 16
/** Name of the journal of calls in the folder of the runner. */
export const LEDGER_FILE = ledgerName(PROTOCOL)
const COMPACT_BYTES = 16 * 1024 * 1024

export class Ledger {
  readonly #journal: Journal
  readonly #outputs: string
  readonly #table = new CallTable()
  readonly #owed = new OwedWrites()
  readonly #others: Set<LedgerReader>
  #compactAt = COMPACT_BYTES

  /** True when a dead runner left calls without an end: processes of it may still be alive. */
  readonly wasInterrupted: boolean
  /** Another id than the one that a server knows: calls that the server knows may be missing here (L6). */
  readonly id: string

  /** @param others the ledgers of runners of other protocols, whose calls are added (L7) */
  constructor(home: string, others: readonly LedgerReader[] = []) {
    this.#others = new Set(others)
    this.#outputs = join(home, outputsName(PROTOCOL))
    mkdirSync(this.#outputs, { recursive: true, mode: 0o700 })
    this.#journal = new Journal(join(home, LEDGER_FILE))
    const { isDamaged } = this.#load()
    if (others.length === 0) this.#table.removed.clear()
    const found = others.map((other) => ({ other, lines: other.read() }))
    const continued = others.length === 1 ? (others[0]?.finalId ?? null) : null
    this.id = (isDamaged ? null : (this.#table.id ?? continued)) ?? randomUUID()
    for (const { other, lines } of found) this.#adopt(other, lines)
    const living = new Set(others.flatMap(({ isAlive, protocol }) => (isAlive ? [protocol] : [])))
    this.wasInterrupted = this.#table.lose(({ by }) => by === null || !living.has(by)) || isDamaged
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
      else this.#table.apply(record as Line, position)
    }
    return { isDamaged }
  }

  /** Adds what the runner of another protocol has recorded since the last time (L7). Returns whether it still executes a call. */
  follow(other: LedgerReader): boolean {
    this.#adopt(other, other.read())
    return [...this.#table].some(({ call }) => call.by === other.protocol && call.ended_at === null && !call.isLost)
  }

  /**
   * Adds the rest of a ledger whose runner has ended; its open calls are lost. Afterwards everything is on disk here (L7).
   * @throws the system's error when it cannot be written; the other ledger is then still needed.
   */
  complete(other: LedgerReader): void {
    this.#adopt(other, other.read())
    this.#table.lose(({ by }) => by === other.protocol)
    this.#owed.settle()
    this.#compact()
    this.#others.delete(other)
    if (this.#others.size === 0) this.#table.removed.clear()
  }

  #adopt(other: LedgerReader, lines: readonly Line[]): void {
    const releasedAt = new Map<string, number>()
    for (const [at, line] of lines.entries()) if (line.t === 'release') releasedAt.set(line.conversation, at)
    for (const [at, line] of lines.entries()) {
      if (!('conversation' in line) || this.#table.removed.has(line.conversation)) continue
      if (at <= (releasedAt.get(line.conversation) ?? -1)) continue
      const known = 'call' in line ? this.#table.find(line.conversation, line.call) : undefined
      if (line.t === 'begin' && known === undefined) {
        const call = newCall(line.at, other.protocol)
        this.#journal.append(beginLine(line.conversation, line.call, call))
        this.#table.add(line.conversation, line.call, call)
      } else if (line.t === 'end' && known?.by === other.protocol && known.ended_at === null) {
        this.end(line.conversation, line.call, other.moved(line.result, this.#outputs), line.at)
      } else if (line.t === 'acknowledge') this.acknowledge(line.conversation, line.calls)
    }
  }

  /** Resolves when a call that another runner executes has ended or is lost; null for any other call. */
  elsewhere(conversation: string, id: string): Promise<void> | null {
    const call = this.#table.find(conversation, id)
    if (call === undefined || call.by === null || call.ended_at !== null || call.isLost) return null
    return (call.over ??= Promise.withResolvers<void>()).promise
  }

  /** True when another runner executed a call of this conversation. */
  hasAdopted(conversation: string): boolean {
    return [...(this.#table.of(conversation)?.values() ?? [])].some(({ by }) => by !== null)
  }

  /** Requests with an older epoch are refused: the newest that claimed the conversation, or the first of the newest server. */
  epochOf(conversation: string): number {
    return this.#table.epochOf(conversation)
  }

  /** Counts at once, and is on disk before a call begins. */
  claim(conversation: string, epoch: number): void {
    const line = { t: 'claim', conversation, epoch, at: Date.now() } as const
    this.#table.claim(line)
    this.#owed.write(() => {
      // Released, or claimed by a newer owner, meanwhile.
      if (this.#table.claimOf(conversation) === epoch) this.#journal.append(line satisfies Line)
    })
  }

  /**
   * Writes the intent to start a call. Resolves when it is on disk (L1); a call without an effect does not wait for that.
   * @throws the system's error when the intent cannot be made durable; the call then must not begin.
   */
  async begin(conversation: string, call: string, hasEffect: boolean): Promise<void> {
    this.#owed.settle()
    if (this.#journal.mustRewrite) this.#compact()
    const begun = newCall(Date.now())
    this.#journal.append(beginLine(conversation, call, begun))
    this.#table.add(conversation, call, begun)
    if (!hasEffect) return
    try {
      await this.#journal.durable()
    } catch (error) {
      // A repeated request may begin it: it did not begin here. A later runner that finds the line reports it as unknown.
      if (this.#table.find(conversation, call) === begun) this.#table.remove(conversation, call)
      throw error
    }
  }

  began(conversation: string, call: string, pid: number | null): void {
    const known = this.#table.find(conversation, call)
    if (known !== undefined) known.pid = pid
  }

  /** Records the result of a call (L3), unless the conversation was released meanwhile. Never throws for a full disk (L4). */
  end(conversation: string, call: string, result: Result, at = Date.now()): void {
    const known = this.#table.find(conversation, call)
    if (known === undefined) return discardResult(this.#outputs, result)
    hold(known, at, result)
    this.#owed.write(() => {
      // Released, or begun anew, meanwhile.
      if (this.#table.find(conversation, call) !== known) return
      const position = this.#journal.append({ t: 'end', conversation, call, at, result } satisfies Line)
      end(known, at, position, result)
    })
    try {
      if (known.spills) this.#prune(conversation)
      if (this.#journal.size > this.#compactAt) this.#compact()
    } catch {
      // The disk is full or has failed. The result of a later call has the same effect.
    }
  }

  entry(conversation: string, call: string): LedgerEntry {
    const known = this.#table.find(conversation, call)
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
    const known = this.#table.find(conversation, call)
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
    const calls = this.#table.of(conversation)
    const known = ids.flatMap((id) => withParts(id, calls)).filter(([, call]) => !call.isAcknowledged)
    if (known.length === 0) return
    // A result that is not on disk yet would be written with its output later.
    this.#owed.settle()
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

  /**
   * Removes a conversation: its id may be used again, by a conversation whose epochs begin anew.
   * @throws the system's error, without a change, when that cannot be written
   */
  release(conversation: string): void {
    const hasOthers = this.#others.size > 0
    if (!hasOthers && !this.#table.knows(conversation)) return
    this.#journal.append({ t: 'release', conversation } satisfies Line)
    if (hasOthers) this.#table.removed.add(conversation)
    for (const call of this.#table.of(conversation)?.values() ?? []) {
      this.#discardSpill(call)
      call.over?.resolve()
    }
    this.#table.release(conversation)
  }

  close(): void {
    this.#journal.close()
  }

  #read(position: Position): Result {
    return (this.#journal.readAt(position) as Extract<Line, { t: 'end' }>).result
  }

  #discardSpill(call: Call): void {
    const result = call.spills ? this.#resultOf(call) : null
    if (result !== null) discardResult(this.#outputs, result)
    call.spills = false
  }

  /** Removes the output files of all but the newest calls. */
  #prune(conversation: string): void {
    const spilled = [...(this.#table.of(conversation)?.values() ?? [])].filter((call) => call.spills)
    for (const call of spilled.slice(0, -MAX_SPILLED)) this.#discardSpill(call)
  }

  /** Rewrites the journal without what can be forgotten (L5). */
  #compact(): void {
    this.#forgetAcknowledged(Date.now() - ACKNOWLEDGED_MS)
    const records: Line[] = [{ t: 'ledger', id: this.id, format: FORMAT }]
    const owners: (Call | null)[] = [null]
    for (const { line, ended } of this.#table.lines((listed) => this.#endLine(listed))) {
      records.push(line)
      owners.push(ended)
    }
    const positions = this.#journal.rewrite(records)
    for (const [index, call] of owners.entries()) {
      if (call !== null) call.result = positions[index] ?? null
    }
    this.#compactAt = Math.max(COMPACT_BYTES, this.#journal.size * 2)
  }

  #endLine({ conversation, id, call: { result, ended_at } }: Listed): Line | null {
    if (result === null || ended_at === null) return null
    return { t: 'end', conversation, call: id, at: ended_at, result: this.#read(result) }
  }

  /** Forgets acknowledged calls that began before `begunBefore`, and epochs that the floor includes. */
  #forgetAcknowledged(begunBefore: number): void {
    for (const { conversation, id, call } of this.#table) {
      const isOver = call.ended_at !== null || call.isLost
      if (!isOver || !call.isAcknowledged || call.begun_at >= begunBefore) continue
      this.#discardSpill(call)
      this.#table.remove(conversation, id)
    }
    this.#table.forgetEpochs()
  }

  /** Removes output files without an entry, which a crash during a command leaves behind. */
  #tidyOutputs(): void {
    const named = new Set<string>()
    for (const { call } of this.#table) {
      if (!call.spills || call.result === null) continue
      const { stdout, stderr } = this.#read(call.result)
      for (const sealed of [stdout, stderr]) if (sealed?.kind === 'file') named.add(sealed.name)
    }
    for (const name of readdirSync(this.#outputs)) {
      if (!named.has(name)) rmSync(join(this.#outputs, name), { force: true })
    }
  }
}
