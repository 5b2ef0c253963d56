/** `parley import`: moves the store of a PostgreSQL database into a data directory. */
import { importStore } from '@parley/server'
import { command } from '../args.ts'
import { printLine } from '../io.ts'
import { moveConfig, printStep } from '../moving.ts'
import { DATA_FLAGS } from '../server-flags.ts'

export const spec = command({
  usage: 'import [DATABASE_URL] [flags]',
  about:
    'Moves the store of a PostgreSQL database into the SQLite file of a data directory. No server may run meanwhile.\n' +
    'Without DATABASE_URL, PARLEY_DATABASE_URL names the database; other users of this machine can read arguments.\n' +
    'The directory is the one that the server used beside the database: it has the sealing key and the files of conversations.',
  flags: DATA_FLAGS,
  words: [0, 1],
  async run({ flags, words: [url] }, io) {
    const config = moveConfig(flags, url, io)
    const { rows, conversations, events, kept } = await importStore(config, (step) => printStep(step, io))
    printLine(
      io,
      `moved ${conversations} conversations with ${events} events, ${rows} rows in all, to ${config.dataDir}`,
    )
    printLine(io, 'start the server without PARLEY_DATABASE_URL')
    printLine(io, `the former store is the schema ${kept} of the database; drop it when the server works`)
    return 0
  },
})
