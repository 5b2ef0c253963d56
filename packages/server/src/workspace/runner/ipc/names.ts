/**
 * Names of the files that a runner keeps in its data directory. Each protocol has files of its own, so that runners of two
 * protocols can work side by side: one that is new, and one that still has commands of an earlier or a later version.
 *
 * These names, the greeting, the marks of processes, SIGTERM and the lines of a ledger are all that versions know of each other.
 * Source: docs/decisions/0012-a-new-runner-beside-an-old-one.md, Decision.
 */
import { PROTOCOL } from './protocol.ts'

/** The first protocol, whose files carry no number. */
const FIRST = 4

const socketPrefix = (protocol: number): string => (protocol === FIRST ? '' : `p${protocol}`)
const suffix = (protocol: number): string => (protocol === FIRST ? '' : `-p${protocol}`)

/** Name of the ledger in the runner's folder. */
export const ledgerName = (protocol: number): string => `ledger${suffix(protocol)}.ndjson`

/** Name of the folder of outputs in the runner's folder. */
export const outputsName = (protocol: number): string => `out${suffix(protocol)}`

/** Name of the socket of the n-th runner of a protocol. */
export const socketName = (generation: number, protocol = PROTOCOL): string =>
  `${socketPrefix(protocol)}r${generation}.sock`

/** Start of the name under which a runner listens before it is elected. The system reports a socket by this name. */
export const privatePrefix = (protocol = PROTOCOL): string => `${socketPrefix(protocol)}new-`

/** Protocol and number of the runner that a socket belongs to; null for another file. */
export function parseSocketName(name: string): { protocol: number; generation: number } | null {
  const found = /^(?:p(\d+))?r(\d+)\.sock$/.exec(name)
  return found === null ? null : { protocol: Number(found[1] ?? FIRST), generation: Number(found[2]) }
}

/** Protocol of the runner that a ledger belongs to; null for another file. */
export function parseLedgerName(name: string): number | null {
  const found = /^ledger(?:-p(\d+))?\.ndjson$/.exec(name)
  return found === null ? null : Number(found[1] ?? FIRST)
}
