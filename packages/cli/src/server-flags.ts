/** Flags of commands about a server on this machine. */
import { configFlags } from '@parley/server'
import type { Flags } from './args.ts'

/** Those of commands that start or examine a server. They follow from its settings. */
export const SERVER_FLAGS: Flags = configFlags()

/** Flags of commands that work on the data of a server, whether it runs or not. */
export const DATA_FLAGS = {
  'data-dir': { type: 'string', value: 'DIR', about: 'data directory of the server' },
  config: { type: 'string', value: 'FILE', about: 'configuration file of the server' },
} as const
