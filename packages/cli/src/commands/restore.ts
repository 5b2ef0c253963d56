/** `parley restore`: restores a backup into an empty data directory. */
import { resolve } from 'node:path'
import { readConfig, restore } from '@parley/server'
import { command } from '../args.ts'
import { printLine } from '../io.ts'

export const spec = command({
  usage: 'restore SOURCE [flags]',
  about:
    'Restores the backup SOURCE into an empty data directory. Conversations that were running in the backup are paused;\n' +
    'one run request continues each of them.',
  flags: {
    key: { type: 'string', value: 'FILE', about: 'file with the sealing key; without it, PARLEY_SECRET_KEY' },
    'data-dir': { type: 'string', value: 'DIR', about: 'new data directory' },
    config: { type: 'string', value: 'FILE', about: 'configuration file of the server' },
  },
  words: [1, 1],
  async run({ flags, words: [word = ''] }, io) {
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    const source = resolve(io.cwd, word)
    const keyFile = flags.key === undefined ? null : resolve(io.cwd, flags.key)
    const { files, created_at, paused, hasWorkspaces } = await restore(config, { source, keyFile })
    printLine(io, `restored ${files} files of the backup of ${created_at} into ${config.dataDir}`)
    printLine(
      io,
      `conversations that were running: ${paused}; they start paused, and one run request continues each of them`,
    )
    if (!hasWorkspaces) printLine(io, 'the backup was made without --workspaces: working directories are not restored')
    return 0
  },
})
