/** Flags that say how a server is to run; `readConfig` of the server gives them their meaning. */
import type { Flags } from './args.ts'

export const SERVER_FLAGS = {
  host: { type: 'string', value: 'HOST', about: 'address to listen on (default 127.0.0.1)' },
  port: { type: 'string', value: 'PORT', short: 'p', about: 'port to listen on, 0 for any free one (default 8000)' },
  'data-dir': { type: 'string', value: 'DIR', about: 'where everything is kept (default ~/.parley)' },
  config: { type: 'string', value: 'FILE', about: 'one JSON file with settings' },
  'log-level': {
    type: 'string',
    value: 'LEVEL',
    about: 'fatal, error, warn, info, debug, trace or silent (default info)',
  },
  ephemeral: { type: 'boolean', about: 'keep conversations in memory alone' },
  'without-keys': { type: 'boolean', about: 'let everyone on this machine in; only on loopback' },
} as const satisfies Flags
