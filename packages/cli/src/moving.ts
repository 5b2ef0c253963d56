/** What `parley export` and `parley import` share. */
import { readConfig, type Config, type MoveStep } from '@parley/server'
import type { Given } from './args.ts'
import { printLine, type Io } from './io.ts'
import type { DATA_FLAGS } from './server-flags.ts'

/** The configuration, with the database of the command line if one is named there. */
export function moveConfig(flags: Given<typeof DATA_FLAGS>, url: string | undefined, io: Io): Config {
  const env = url === undefined ? io.env : { ...io.env, PARLEY_DATABASE_URL: url }
  return readConfig({ flags, env, cwd: io.cwd, home: io.home }).config
}

export const printStep = ({ table, rows, of }: MoveStep, io: Io): void =>
  printLine(io, rows === of ? `${table}: ${of} rows` : `${table}: ${rows} of ${of} rows`)
