/** `parley backup`: copies the data directory itself, also while a server uses it. */
import { resolve } from 'node:path'
import { backUp, readConfig } from '@parley/server'
import { command } from '../args.ts'
import { printLine } from '../io.ts'
import { DATA_FLAGS } from '../server-flags.ts'

/** Entries that are named one by one when they could not be copied. */
const MAX_NAMED = 20

export const spec = command({
  usage: 'backup TARGET [flags]',
  about:
    'Copies the data directory of a server into the new folder TARGET. The server may run meanwhile.\n' +
    'The sealing key is never part of the copy: keep it apart, with --key FILE for example.',
  flags: {
    key: { type: 'string', value: 'FILE', about: 'also copies the sealing key, into a new file outside of TARGET' },
    workspaces: { type: 'boolean', about: 'also copies the working directories that the server made' },
    ...DATA_FLAGS,
  },
  words: [1, 1],
  async run({ flags, words: [word = ''] }, io) {
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    const target = resolve(io.cwd, word)
    const keyFile = flags.key === undefined ? null : resolve(io.cwd, flags.key)
    const report = await backUp(config, { target, keyFile, withWorkspaces: flags.workspaces === true })
    printLine(io, `backed up ${config.dataDir} to ${target}: ${report.files} files, ${report.bytes} bytes`)
    if (keyFile !== null) printLine(io, `the sealing key is in ${keyFile}; keep it apart from the backup`)
    if (report.keyToKeep !== null)
      printLine(io, `not part of it: the sealing key ${report.keyToKeep}; a restore needs a copy of it`)
    for (const { path, reason } of report.leftOut.slice(0, MAX_NAMED))
      io.stderr.write(`not copied: ${path}: ${reason}\n`)
    const more = report.leftOut.length - MAX_NAMED
    if (more > 0) io.stderr.write(`not copied: ${more} more\n`)
    return 0
  },
})
