/** `parley audit`: checks the chain of an append-only audit file; needs neither a running server nor a key. */
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { checkAuditLines } from '@parley/server'
import { command } from '../args.ts'
import { printLine, type Io } from '../io.ts'

const MAX_SHOWN = 10

export const spec = command({
  usage: 'audit FILE...',
  about:
    'Checks that no line of an audit file was changed, removed or inserted. Several files are read as one, oldest first. ' +
    'The exit code is 1 if the chain is broken.',
  flags: {},
  words: [1, 1000],
  async run({ words }, io) {
    let end: string | null = null
    let isWhole = true
    for (const name of words) {
      const report = await checkAuditLines(linesIn(resolve(io.cwd, name)), end)
      end = report.end
      isWhole &&= report.breaks.length === 0
      printReport(name, report, io)
    }
    return isWhole ? 0 : 1
  },
})

/** The file is opened when the first line is asked for: lines that arrive before that are lost, and the check would never end. */
async function* linesIn(path: string): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(path), crlfDelay: Infinity })
}

function printReport(name: string, report: Awaited<ReturnType<typeof checkAuditLines>>, io: Io): void {
  const { records, first, last, begin, end, unreadable, breaks } = report
  printLine(io, `${name}: ${records} records${first === null ? '' : `, ${first} to ${last}`}`)
  if (begin !== null) printLine(io, `  continues ${begin}`)
  if (end !== null) printLine(io, `  ends with ${end}`)
  if (unreadable.length > 0) printLine(io, `  changed, or cut off by a failure: ${linesOf(unreadable)}`)
  if (breaks.length > 0) printLine(io, `  BROKEN: does not continue the line before: ${linesOf(breaks)}`)
}

function linesOf(numbers: readonly number[]): string {
  const rest = numbers.length - MAX_SHOWN
  return `line ${numbers.slice(0, MAX_SHOWN).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
