/** Copies audit records to a file that is only appended to. Source: docs/audit.md, Append-only file. */
import { lstat, open, type FileHandle } from 'node:fs/promises'
import type { Log } from '../log.ts'
import { CHAIN_START, chainedLine, readChainedLine } from './chain.ts'
import { SinkQueue, type AuditSink } from './sink-queue.ts'

/** Bytes at the end of an existing file in which its last line is searched; no line is longer. */
const TAIL_BYTES = 64 * 1024

/** Opens the file for each delivery, so that it can be moved away at any time. */
export function openAuditFile(path: string, log: Log): AuditSink {
  /** Hash of the last line; null: it has to be read. */
  let head: string | null = null
  return new SinkQueue(
    path,
    async (records) => {
      const found = await lstat(path).catch(nullIfMissing)
      // Opening a pipe without a reader would block.
      if (found !== null && !found.isFile()) throw new Error(`${path} is no ordinary file`)
      await using file = await open(path, 'a+', 0o600)
      const tail = await tailOf(file)
      let previous = head ?? tail.hash ?? CHAIN_START
      // Until the lines are on disk, it is not known which of them are.
      head = null
      const lines = records.map((record) => {
        const { line, hash } = chainedLine(record, previous)
        previous = hash
        return `${line}\n`
      })
      // A line that was cut off stays a line of its own.
      await file.appendFile(`${tail.isWhole ? '' : '\n'}${lines.join('')}`)
      await file.datasync()
      head = previous
    },
    log,
  )
}

/** The hash of the last record of a file. `isWhole`: it ends with a line break. */
async function tailOf(file: FileHandle): Promise<{ hash: string | null; isWhole: boolean }> {
  const { size } = await file.stat()
  if (size === 0) return { hash: null, isWhole: true }
  const start = Math.max(0, size - TAIL_BYTES)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
  const text = buffer.subarray(0, bytesRead).toString('utf8')
  const records = text.split('\n').map(readChainedLine)
  return { hash: records.findLast((record) => record !== null)?.hash ?? null, isWhole: text.endsWith('\n') }
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
