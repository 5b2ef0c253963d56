/** The ledger of a runner of another protocol: read as far as it is written, and never changed. */
import { closeSync, existsSync, fstatSync, linkSync, openSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ledgerName, outputsName, parseLedgerName } from '../ipc/names.ts'
import { PROTOCOL } from '../ipc/protocol.ts'
import type { Sealed } from './bounded-output.ts'
import { FORMAT, NOTHING, type Line, type Result } from './call.ts'
import { firstLine, linesOf } from './journal.ts'

export class LedgerReader {
  readonly protocol: number
  /** False once its runner has ended: nothing more will be written. */
  isAlive: boolean
  readonly #home: string
  #offset = 0
  #inode = -1n
  #id: string | null = null
  #isDamaged = false
  #isTorn = false
  #isReadable = true

  /** @param home the runner's folder */
  constructor(home: string, protocol: number, isAlive: boolean) {
    this.#home = home
    this.protocol = protocol
    this.isAlive = isAlive
  }

  /** Name of its file in the runner's folder. */
  get name(): string {
    return ledgerName(this.protocol)
  }

  /** False when a later version wrote it in a form that this one does not know. */
  get isReadable(): boolean {
    return this.#isReadable
  }

  /** The id that stands for its calls being complete; null while its runner may add calls, and when lines are missing. */
  get finalId(): string | null {
    return this.isAlive || this.#isDamaged || this.#isTorn || !this.#isReadable ? null : this.#id
  }

  /** The lines since the last time; all lines after the file was rewritten. A line that is not complete yet comes later. */
  read(): Line[] {
    const fd = tryOpen(join(this.#home, this.name))
    if (fd === null) return []
    try {
      const { ino, size } = fstatSync(fd, { bigint: true })
      if (ino !== this.#inode || Number(size) < this.#offset) this.#offset = 0
      this.#inode = ino
      return [...this.#linesTo(fd, Number(size))]
    } finally {
      closeSync(fd)
    }
  }

  *#linesTo(fd: number, size: number): Generator<Line> {
    this.#isTorn = false
    const from = this.#offset
    for (const { record, position } of linesOf(fd, from, size)) {
      const end = position.offset + position.length
      this.#isTorn = record === undefined && end === size
      if (!this.#isTorn) this.#offset = end
      if (record === undefined) this.#isDamaged ||= !this.#isTorn
      else if (this.#isKnown(record as Line)) yield record as Line
    }
  }

  #isKnown(line: Line): boolean {
    if (line.t === 'ledger') {
      this.#id = line.id
      this.#isReadable = (line.format ?? FORMAT) <= FORMAT
    }
    return this.#isReadable
  }

  /** The result with its output files under `outputs`. A file that is gone counts as dropped output. */
  moved(result: Result, outputs: string): Result {
    const move = (sealed: Sealed): Sealed => {
      if (sealed.kind === 'inline') return sealed
      const name = `p${this.protocol}-${sealed.name}`
      return tryLink(join(this.#home, outputsName(this.protocol), sealed.name), join(outputs, name))
        ? { ...sealed, name }
        : { ...NOTHING, chars: sealed.chars, lost: sealed.total }
    }
    return { ...result, stdout: move(result.stdout), stderr: result.stderr === null ? null : move(result.stderr) }
  }
}

/** Protocols of the other runners that have a ledger in the runner's folder. */
export function otherProtocols(home: string): number[] {
  if (!existsSync(home)) return []
  return readdirSync(home)
    .map(parseLedgerName)
    .filter((protocol) => protocol !== null && protocol !== PROTOCOL) as number[]
}

/** True when a runner of any protocol was used in the runner's folder. */
export const hasAnyLedger = (home: string): boolean =>
  existsSync(join(home, ledgerName(PROTOCOL))) || otherProtocols(home).length > 0

/** True when a ledger of any runner names a conversation. */
export async function namesConversation(home: string, conversation: string): Promise<boolean> {
  for (const protocol of [PROTOCOL, ...otherProtocols(home)]) {
    const path = join(home, ledgerName(protocol))
    if (existsSync(path) && (await readFile(path)).includes(JSON.stringify(conversation))) return true
  }
  return false
}

/**
 * Id in the first line of the ledger; without a ledger, that of the only other one, which the next runner continues. Null
 * without either, or without an id in it.
 */
export function ledgerId(home: string): string | null {
  const own = idIn(join(home, ledgerName(PROTOCOL)))
  const others = otherProtocols(home)
  return own === null && others.length === 1 ? idIn(join(home, ledgerName(others[0] ?? PROTOCOL))) : own
}

function idIn(path: string): string | null {
  const line = firstLine(path) as { t?: unknown; id?: unknown } | null | undefined
  return line?.t === 'ledger' && typeof line.id === 'string' ? line.id : null
}

function tryOpen(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return true
    if (code === 'ENOENT') return false
    throw error
  }
}
