/** `parley doctor`: checks the requirements of a start. */
import { readConfig } from '@parley/server'
import { command } from '../args.ts'
import { CHECKS, type Finding } from '../checks.ts'
import { printLine, wantsColour } from '../io.ts'
import { painter, type Colour } from '../paint.ts'
import { SERVER_FLAGS } from '../server-flags.ts'

const COLOURS: Record<Finding['level'], Colour> = { ok: 'green', warn: 'yellow', fail: 'red' }

export const spec = command({
  usage: 'doctor [flags]',
  about: 'Checks the requirements of a start. Ends with 1 when one of them is not met.',
  flags: SERVER_FLAGS,
  words: [0, 0],
  async run({ flags }, io) {
    const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
    const paint = painter(wantsColour(io))
    let hasFailed = false
    for (const [name, check] of CHECKS) {
      const { level, says, remedy } = await check({ config, env: io.env }).catch((error: Error): Finding => ({
        level: 'fail',
        says: error.message,
      }))
      hasFailed ||= level === 'fail'
      printLine(io, `${paint(COLOURS[level], level.padEnd(4))}  ${name.padEnd(14)}  ${says}`)
      if (remedy !== undefined) printLine(io, `${' '.repeat(22)}${paint('dim', remedy)}`)
    }
    return hasFailed ? 1 : 0
  },
})
