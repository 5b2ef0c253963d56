/** The flags of commands that start or examine a server. They follow from the settings of the server. */
import { configFlags } from '@parley/server'
import type { Flags } from './args.ts'

export const SERVER_FLAGS: Flags = configFlags()
