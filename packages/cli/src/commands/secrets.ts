/** `parley secrets rekey`: replaces the key that stored secrets are sealed with. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { readConfig, rekey, type RekeyStep } from '@parley/server'
import { command, UsageError } from '../args.ts'
import { printLine, type Io } from '../io.ts'
import { DATA_FLAGS } from '../server-flags.ts'

export const spec = command({
  usage: 'secrets rekey [flags]',
  about:
    'Seals everything in the store with a new key. No server may use the data directory meanwhile.\n' +
    'When the command is cut off, start the server or repeat the command: the store has one of the two keys.',
  flags: {
    backup: { type: 'string', value: 'DIR', about: 'backs up to the new folder DIR before, and the key to DIR.key' },
    'no-backup': { type: 'boolean', about: 'makes no backup' },
    'new-key': {
      type: 'string',
      value: 'FILE',
      about: 'file with the new text of PARLEY_SECRET_KEY; default: a new key file',
    },
    ...DATA_FLAGS,
  },
  words: [1, 1],
  async run({ flags, words: [action] }, io) {
    if (action !== 'rekey') throw new UsageError(`secrets can rekey, not "${action}"`)
    if ((flags.backup === undefined) === (flags['no-backup'] !== true))
      throw new UsageError('secrets rekey needs either --backup DIR or --no-backup')
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    const backup = flags.backup === undefined ? null : resolve(io.cwd, flags.backup)
    const file = flags['new-key'] === undefined ? null : resolve(io.cwd, flags['new-key'])
    const newKey = file === null ? null : (await readFile(file, 'utf8')).replace(/\r?\n$/, '')
    const report = await rekey(config, { newKey, backup, progress: (step) => printStep(step, backup, io) })
    printLine(io, `sealed ${report.resealed} values with the new key ${report.keyId}`)
    if (report.unreadable > 0)
      printLine(
        io,
        `${report.unreadable} values were not sealed with the earlier key, or are damaged; they stay unreadable`,
      )
    if (report.notCompacted !== null)
      io.stderr.write(`free space of the store may contain values under the earlier key: ${report.notCompacted}\n`)
    if (report.keyFile === null) printLine(io, `set PARLEY_SECRET_KEY to the text in ${file} before the next start`)
    else printLine(io, `the new key is in ${report.keyFile}`)
    return 0
  },
})

function printStep(step: RekeyStep, backup: string | null, io: Io): void {
  switch (step.kind) {
    case 'backed_up':
      printLine(io, `backed up to ${backup}; delete it, and the earlier key, when the new key works`)
      break
    case 'key_written':
    case 'table':
      break
    case 'committed':
      printLine(io, 'the store has the new key')
      break
  }
}
