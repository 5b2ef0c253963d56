/**
 * Record of the calls of this runner and their results, by call id.
 *
 * Invariants
 *   L1. The intent to start a call is on disk before its process or command begins. After a crash, a call that may have
 *       begun is `unknown`; only a call that did not begin is `absent`.
 *   L2. A call is begun at most once; a repeated request gets the same entry.
 *   L3. A result is recorded before it is sent.
 *   L4. Results and outputs are on disk; memory holds only their positions.
 */
import type { LedgerEntry } from '../../workspace.ts'
import { discardSealed, type Sealed } from './bounded-output.ts'
import { Journal, type Position } from './journal.ts'
import { join } from 'node:path'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'

/** Everything needed to answer a call again: the final frame, and the output before it. */
export type Result = {
  exit_code: number | null
  signal: string | null
  answer: object
  stdout: Sealed
  stderr: Sealed | null
}

type Line =
  | { t: 'claim'; conversation: string; epoch: number; at: number }
  | { t: 'begin'; conversation: string; call: string; at: number }
  | { t: 'end'; conversation: string; call: string; at: number; result: Result }
  | { t: 'release'; conversation: string }

type Call = {
  begun_at: number
  pid: number | null
  ended_at: number | null
  result: Position | null
  isLost: boolean
  spills: boolean
}

const MAX_AGE_MS = 24 * 60 * 60 * 1_000
/** Outputs in files, per conversation. A call whose observation is not stored yet is one of the newest. */
const MAX_SPILLED = 16
const MAX_CALLS = 1_000
const COMPACT_BYTES = 16 * 1024 * 1024

export class Ledger {
  readonly #journal: Journal
  readonly #outputs: string
  readonly #calls = new Map<string, Map<string, Call>>()
  readonly #epochs = new Map<string, { epoch: number; at: number }>()
  #compactAt = COMPACT_BYTES

  /** True when an earlier runner left calls without an end: processes of it may still be alive. */
  readonly wasInterrupted: boolean

  constructor(home: string) {
    this.#outputs = join(home, 'out')
    mkdirSync(this.#outputs, { recursive: true, mode: 0o700 })
    this.#journal = new Journal(join(home, 'ledger.ndjson'))
    this.wasInterrupted = this.#load()
    this.#compact()
    this.#tidyOutputs()
  }

  /** Folder of outputs that are too long for a line. */
  get outputs(): string {
    return this.#outputs
  }

  #load(): boolean {
    let isLost = false
    for (const { record, position } of this.#journal.lines()) {
      const line = record as Line
      if (line.t === 'claim') this.#epochs.set(line.conversation, { epoch: line.epoch, at: line.at })
      else if (line.t === 'release') this.#calls.delete(line.conversation)
      else if (line.t === 'begin') {
        this.#of(line.conversation).set(line.call, newCall(line.at, null))
      } else {
        const call = this.#calls.get(line.conversation)?.get(line.call)
        if (call !== undefined) end(call, line.at, position, line.result)
      }
    }
    for (const calls of this.#calls.values()) {
      for (const call of calls.values()) {
        if (call.ended_at !== null) continue
        call.isLost = true
        isLost = true
      }
    }
    return isLost
  }

  /** Newest epoch that claimed a conversation; 0 for none. */
  epochOf(conversation: string): number {
    return this.#epochs.get(conversation)?.epoch ?? 0
  }

  claim(conversation: string, epoch: number): void {
    const at = Date.now()
    this.#epochs.set(conversation, { epoch, at })
    this.#journal.append({ t: 'claim', conversation, epoch, at } satisfies Line)
  }

  /** Writes the intent to start a call. Resolves when it is on disk (L1); a call without an effect does not wait for that. */
  async begin(conversation: string, call: string, hasEffect: boolean): Promise<void> {
    const at = Date.now()
    this.#journal.append({ t: 'begin', conversation, call, at } satisfies Line)
    this.#of(conversation).set(call, newCall(at, null))
    if (hasEffect) await this.#journal.durable()
  }

  began(conversation: string, call: string, pid: number | null): void {
    const known = this.#calls.get(conversation)?.get(call)
    if (known !== undefined) known.pid = pid
  }

  /** Records the result of a call (L3), unless the conversation was released meanwhile. */
  end(conversation: string, call: string, result: Result): void {
    const known = this.#calls.get(conversation)?.get(call)
    if (known === undefined) return discardResult(this.#outputs, result)
    const at = Date.now()
    const position = this.#journal.append({ t: 'end', conversation, call, at, result } satisfies Line)
    end(known, at, position, result)
    this.#prune(conversation)
    if (this.#journal.size > this.#compactAt) this.#compact()
  }

  entry(conversation: string, call: string): LedgerEntry {
    const known = this.#calls.get(conversation)?.get(call)
    if (known === undefined) return { state: 'absent' }
    if (known.isLost) return { state: 'unknown' }
    const started_at = new Date(known.begun_at).toISOString()
    if (known.ended_at === null || known.result === null) return { state: 'running', pid: known.pid ?? -1, started_at }
    const { exit_code, signal } = this.#read(known.result)
    return { state: 'exited', exit_code, signal, started_at, ended_at: new Date(known.ended_at).toISOString() }
  }

  /** The result of an ended call, or null. */
  result(conversation: string, call: string): Result | null {
    const position = this.#calls.get(conversation)?.get(call)?.result ?? null
    return position === null ? null : this.#read(position)
  }

  /**
   * Removes the output of calls whose results are stored elsewhere, because it may hold secrets. Their exits stay on record.
   * A crash in between leaves the output in the journal until it is rewritten.
   */
  forget(conversation: string, ids: readonly string[]): void {
    for (const id of ids) {
      const call = this.#calls.get(conversation)?.get(id)
      if (call === undefined || call.ended_at === null || call.result === null) continue
      const position = call.result
      const result = this.#read(position)
      if (isBare(result)) continue
      this.#discardSpill(call)
      const bare = { ...result, stdout: NOTHING, stderr: result.stderr === null ? null : NOTHING }
      call.result = this.#journal.append({ t: 'end', conversation, call: id, at: call.ended_at, result: bare })
      this.#journal.blank(position)
    }
  }

  /** Removes the calls of a conversation. Its epoch is kept, so that an earlier owner is still refused. */
  release(conversation: string): void {
    const calls = this.#calls.get(conversation)
    if (calls === undefined) return
    for (const call of calls.values()) this.#discardSpill(call)
    this.#calls.delete(conversation)
    this.#journal.append({ t: 'release', conversation } satisfies Line)
  }

  /** Removes the output files of a result that was not recorded. */
  discard(result: Result): void {
    discardResult(this.#outputs, result)
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

  /** Removes the output files of all but the newest calls, then the oldest calls. */
  #prune(conversation: string): void {
    const calls = this.#calls.get(conversation)
    if (calls === undefined) return
    const spilled = [...calls.values()].filter((call) => call.spills)
    for (const call of spilled.slice(0, -MAX_SPILLED)) this.#discardSpill(call)
    for (const [id, call] of calls) {
      if (calls.size <= MAX_CALLS) return
      if (call.ended_at !== null) calls.delete(id)
    }
  }

  /** Rewrites the journal without removed calls and those older than a day. */
  #compact(): void {
    const oldest = Date.now() - MAX_AGE_MS
    const records: Line[] = []
    const owners: (Call | null)[] = []
    const keep = (line: Line, call: Call | null) => {
      records.push(line)
      owners.push(call)
    }
    for (const [conversation, { epoch, at }] of this.#epochs) {
      if (at < oldest && !this.#calls.has(conversation)) this.#epochs.delete(conversation)
      else keep({ t: 'claim', conversation, epoch, at }, null)
    }
    for (const [conversation, calls] of this.#calls) {
      for (const [id, call] of calls) {
        const isOver = call.ended_at !== null || call.isLost
        if (isOver && (call.ended_at ?? call.begun_at) < oldest) {
          this.#discardSpill(call)
          calls.delete(id)
          continue
        }
        keep({ t: 'begin', conversation, call: id, at: call.begun_at }, null)
        if (call.result !== null && call.ended_at !== null) {
          keep({ t: 'end', conversation, call: id, at: call.ended_at, result: this.#read(call.result) }, call)
        }
      }
      if (calls.size === 0) this.#calls.delete(conversation)
    }
    const positions = this.#journal.rewrite(records)
    for (const [index, call] of owners.entries()) {
      if (call !== null) call.result = positions[index] ?? null
    }
    this.#compactAt = Math.max(COMPACT_BYTES, this.#journal.size * 2)
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

const NOTHING: Sealed = { kind: 'inline', data: '', chars: 0 }
const isEmpty = (sealed: Sealed | null): boolean => sealed === null || (sealed.kind === 'inline' && sealed.data === '')
const isBare = ({ stdout, stderr }: Result): boolean => isEmpty(stdout) && isEmpty(stderr)

const newCall = (begun_at: number, pid: number | null): Call => ({
  begun_at,
  pid,
  ended_at: null,
  result: null,
  isLost: false,
  spills: false,
})

function end(call: Call, at: number, position: Position, result: Result): void {
  call.ended_at = at
  call.result = position
  call.spills = result.stdout.kind === 'file' || result.stderr?.kind === 'file'
}

function discardResult(folder: string, { stdout, stderr }: Result): void {
  discardSealed(folder, stdout)
  if (stderr !== null) discardSealed(folder, stderr)
}
