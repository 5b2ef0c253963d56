/** `parley doctor`: checks the requirements of a start. */
import { readConfig } from '@parley/server'
import { command } from '../args.ts'
import { CHECKS, databaseFindings, modeFindings, type Finding } from '../checks.ts'
import { printLine, wantsColour } from '../io.ts'
import { painter, type Colour } from '../paint.ts'
import { SERVER_FLAGS } from '../server-flags.ts'

/** Columns of the name of a check. */
const NAME = 15

const COLOURS: Record<Finding['level'], Colour> = { ok: 'green', warn: 'yellow', fail: 'red' }

export const spec = command({
  usage: 'doctor [flags]',
  about: 'Checks the requirements of a start. Ends with 1 when one of them is not met.',
  flags: SERVER_FLAGS,
  words: [0, 0],
  async run({ flags }, io) {
    const sources = { flags, env: io.env, cwd: io.cwd, home: io.home }
    const { config } = readConfig(sources)
    const shared = readConfig({ ...sources, flags: { ...flags, mode: 'shared' } }).config
    const paint = painter(wantsColour(io))
    let hasFailed = false
    const print = (name: string, { level, says, remedy }: Finding): void => {
      hasFailed ||= level === 'fail'
      printLine(io, `${paint(COLOURS[level], level.padEnd(4))}  ${name.padEnd(NAME)}  ${says}`)
      if (remedy !== undefined) printLine(io, `${' '.repeat(NAME + 8)}${paint('dim', remedy)}`)
    }
    const place = { config, env: io.env }
    for (const [name, check] of CHECKS) {
      const failed = (error: Error): Finding => ({ level: 'fail', says: error.message })
      print(name, await check(place).catch(failed))
    }
    if (config.databaseUrl !== null)
      for (const finding of await databaseFindings(config.databaseUrl)) print('database', finding)
    printLine(io, '')
    const conditions = await modeFindings(place, shared)
    printLine(io, `Mode ${config.mode}:`)
    for (const [name, finding] of conditions.own) print(name, finding)
    if (conditions.shared.length > 0) printLine(io, 'The mode shared also needs:')
    for (const [name, finding] of conditions.shared) print(name, finding)
    return hasFailed ? 1 : 0
  },
})
