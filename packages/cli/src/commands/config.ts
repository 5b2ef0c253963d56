/** `parley config`: the settings in force and the origin of each value. */
import { describeConfig, readConfig } from '@parley/server'
import { command } from '../args.ts'
import { printLine } from '../io.ts'
import { SERVER_FLAGS } from '../server-flags.ts'

export const spec = command({
  usage: 'config [flags]',
  about: 'Prints every setting with its value and origin; secrets stay hidden.',
  flags: SERVER_FLAGS,
  words: [0, 0],
  async run({ flags }, io) {
    const { config, origins } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    for (const line of describeConfig(config, origins)) printLine(io, line)
    return 0
  },
})
