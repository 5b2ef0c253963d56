/** `parley export`: moves the store of a data directory into a PostgreSQL database. */
import { exportStore } from '@parley/server'
import { command } from '../args.ts'
import { printLine } from '../io.ts'
import { moveConfig, printStep } from '../moving.ts'
import { DATA_FLAGS } from '../server-flags.ts'

export const spec = command({
  usage: 'export [DATABASE_URL] [flags]',
  about:
    'Moves the store of a data directory from its SQLite file into an empty PostgreSQL database. No server may run meanwhile.\n' +
    'Without DATABASE_URL, PARLEY_DATABASE_URL names the database; other users of this machine can read arguments.\n' +
    'parley import moves it back.',
  flags: DATA_FLAGS,
  words: [0, 1],
  async run({ flags, words: [url] }, io) {
    const config = moveConfig(flags, url, io)
    const { rows, conversations, events, kept } = await exportStore(config, (step) => printStep(step, io))
    printLine(io, `moved ${conversations} conversations with ${events} events, ${rows} rows in all, to the database`)
    printLine(io, `start the server with PARLEY_DATABASE_URL and the same data directory, ${config.dataDir}`)
    printLine(io, `the former store is ${kept}; delete it when the server works`)
    return 0
  },
})
