/**
 * Lines of JSON of which each contains the hash of the one before it: a line that is changed, removed or inserted breaks the chain.
 * Source: docs/audit.md, Append-only file.
 */
import { createHash } from 'node:crypto'

/** `previous` of the first line of a chain. */
export const CHAIN_START = '0'.repeat(64)

/** The line of a record, without a line break, and its hash. `previous`: hash of the line before it. */
export function chainedLine(record: object, previous: string): { line: string; hash: string } {
  const body = { ...record, previous }
  const hash = hashOf(body)
  return { line: JSON.stringify({ ...body, hash }), hash }
}

const hashOf = (body: object): string => createHash('sha256').update(JSON.stringify(body)).digest('hex')

/** The hash of a line that is unchanged in itself, and that of the line before it; null for any other text. */
export function readChainedLine(line: string): { hash: string; previous: string; at: string | null } | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { hash, ...body } = value as Record<string, unknown>
  const { previous, at } = body
  if (typeof hash !== 'string' || typeof previous !== 'string' || hashOf(body) !== hash) return null
  return { hash, previous, at: typeof at === 'string' ? at : null }
}

/** What a check of lines has found. */
export type ChainReport = {
  /** Unchanged lines. */
  records: number
  /** Hash that the first line continues; `CHAIN_START` for the beginning of a chain. */
  begin: string | null
  /** Hash of the last line. */
  end: string | null
  first: string | null
  last: string | null
  /** Numbers, from 1, of lines that are no record or were changed. */
  unreadable: number[]
  /** Numbers of lines that do not continue the line before them. */
  breaks: number[]
}

/** Checks lines in their order. @param end hash of the last line of the file before this one */
export async function checkChain(lines: AsyncIterable<string>, end: string | null = null): Promise<ChainReport> {
  const report: ChainReport = { records: 0, begin: null, end, first: null, last: null, unreadable: [], breaks: [] }
  let number = 0
  for await (const line of lines) {
    number += 1
    if (line === '') continue
    const read = readChainedLine(line)
    if (read === null) {
      report.unreadable.push(number)
      continue
    }
    if (report.end !== null && read.previous !== report.end) report.breaks.push(number)
    report.begin ??= read.previous
    report.first ??= read.at
    report.last = read.at ?? report.last
    report.end = read.hash
    report.records += 1
  }
  return report
}
