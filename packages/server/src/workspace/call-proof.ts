/**
 * The proof that a call never began. A call is `absent` only if the records that would name it belong to this store and are
 * complete; otherwise it is `unknown`, and it is not executed again.
 *
 * Invariants
 *   A1. The store holds the id of the runner's call ledger. It is stored before the first request to a runner with this ledger.
 *   A2. The store and the data directory hold the same mark. It changes with every start, before the first effect of a call, and
 *       twice a day. Another mark means that one of them was restored, or that the directory was lost.
 *   A3. The data directory holds the number of the newest note of a call (`call-notes.ts`). A lower number in the store means that
 *       the store was replaced by an older one.
 *   A4. When ledger, mark or number differ, every call that is stored by then is unproven. Calls that a record names keep their
 *       outcome.
 * Source: docs/operations.md, Backup.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { ConversationId } from '@parley/protocol'
import type { Log } from '../observability/index.ts'
import type { CallStore, DataDirectory, NoteStore } from '../storage/index.ts'
import { NoteWitness, witnessed } from './note-witness.ts'
import { ledgerId } from './runner/ledger/ledger-reader.ts'
import type { LedgerEntry } from './workspace.ts'

/** Less than the time for which the ledger keeps acknowledged calls: an older store than that has another mark. */
const NEW_MARK_MS = 12 * 60 * 60 * 1_000
/** Milliseconds after which a start without a call changes the mark: a mark costs five syncs, which would delay the first answer. */
const FIRST_MARK_MS = 1_000

export interface CallProof extends AsyncDisposable {
  /** Number of this start. It grows with every start that has executed calls, also when an older store is restored. */
  readonly start: number
  /** True when a runner was used, also if its ledger is lost: a living one still knows its calls. */
  readonly hasLedger: boolean
  /** Compares the ledger of a runner with the store, before the first request to it. Undefined: a runner of version 0.1.0. */
  bind(ledger: string | undefined): Promise<void>
  /** Call with the number of a stored note; resolves when the effect that it announces may begin. @throws the system's error */
  noted(note: number): Promise<void>
  /** Replaces `absent` by `unknown` where the absence proves nothing. */
  proven(conversation: ConversationId, entries: Record<string, LedgerEntry>): Promise<Record<string, LedgerEntry>>
}

export type CallProofDeps = {
  calls: CallStore
  notes: Pick<NoteStore, 'newest'>
  dataDir: string
  log: Pick<Log, 'warn'>
}

/**
 * Compares the data directory with its store. If records are missing, the calls that are stored by then are unproven when it
 * resolves. Must precede every request to a runner.
 */
export async function openCallProof({ calls, notes, dataDir, log }: CallProofDeps): Promise<CallProof> {
  const home = join(dataDir, 'runner')
  const stored = await calls.directory()
  const mark = readMark(home)
  const ledger = ledgerId(home)
  const newestNote = await notes.newest()
  const witness = witnessed(join(home, 'notes'))
  const isComplete =
    stored !== null &&
    (stored.ledger === null || stored.ledger === ledger) &&
    (mark === stored.mark || mark === stored.nextMark) &&
    (witness === null ? newestNote === 0 : witness <= newestNote)
  if (!isComplete && stored !== null)
    log.warn(
      { code: 'call_records_foreign', data_dir: dataDir },
      'data directory and store do not belong together, or one of them was restored: open calls without a record are reported as unknown',
    )
  let now: DataDirectory = { ledger, mark: Math.max(stored?.mark ?? 0, stored?.nextMark ?? 0, mark), nextMark: null }

  const set = async (next: DataDirectory, complete: boolean) => {
    await calls.setDirectory(next, complete)
    now = next
  }
  /** The store first names the new mark, so that a crash at any point leaves two marks that belong together. */
  const renew = async (complete: boolean) => {
    const nextMark = now.mark + 1
    await set({ ...now, nextMark }, complete)
    writeMark(home, nextMark)
    await set({ ...now, mark: nextMark, nextMark: null }, true)
  }
  const start = now.mark + 1
  let marking: Promise<void> | null = null
  /** Resolves when store and directory have the mark of this start. The next call repeats an attempt that failed. */
  const marked = () =>
    (marking ??= renew(isComplete).catch((error: unknown) => {
      marking = null
      throw error
    }))
  const unmarked = (err: unknown) => log.warn({ err }, 'mark of the data directory not renewed')
  // Before a new call is stored, because it would be unproven too.
  if (!isComplete) await marked()
  const first = setTimeout(() => void marked().catch(unmarked), FIRST_MARK_MS).unref()
  // Not earlier: the higher number of a newer store must stay until the calls of this one are unproven.
  const newest = new NoteWitness(join(home, 'notes'), newestNote)
  const later = setInterval(() => void renew(true).catch(unmarked), NEW_MARK_MS).unref()

  return {
    start,
    get hasLedger() {
      return now.ledger !== null || stored?.ledger != null
    },
    async bind(found) {
      await marked()
      const bound = found ?? null
      if (bound === now.ledger) return
      const complete = now.ledger === null
      if (!complete)
        log.warn(
          { code: 'call_ledger_replaced', data_dir: dataDir },
          'the call ledger was replaced or damaged: open calls without a record are reported as unknown',
        )
      await set({ ...now, ledger: bound }, complete)
    },
    async noted(note) {
      await marked()
      newest.raise(note)
    },
    async proven(conversation, entries) {
      const absent = Object.entries(entries).flatMap(([id, { state }]) => (state === 'absent' ? [id] : []))
      if (absent.length === 0) return entries
      const unproven = await calls.unproven(conversation, absent)
      const unknown = (id: string): [string, LedgerEntry] => [id, { state: 'unknown' }]
      return { ...entries, ...Object.fromEntries([...unproven].map(unknown)) }
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(first)
      clearInterval(later)
      await marking?.catch(() => undefined)
      newest[Symbol.dispose]()
    },
  }
}

/** 0 when there is no file, or an unreadable one. */
function readMark(home: string): number {
  try {
    const mark = Number(readFileSync(join(home, 'mark'), 'utf8'))
    return Number.isSafeInteger(mark) ? mark : 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

/** Resolves after the file and its name are on disk. */
function writeMark(home: string, mark: number): void {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const path = join(home, 'mark')
  const fd = openSync(`${path}.new`, 'w', 0o600)
  try {
    writeSync(fd, String(mark))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(`${path}.new`, path)
  const folder = openSync(home, 'r')
  fsyncSync(folder)
  closeSync(folder)
}
