/**
 * The door of the server. Only configuration is loaded at once: a command that talks to a server that runs elsewhere
 * does not pay for the one it does not start.
 */
import type { Joints, Server } from './join/compose.ts'
import type { Config } from './config/index.ts'
import type { Keys } from './join/keys.ts'
import type * as Preflight from './preflight.ts'

export type { Joints, Server } from './join/compose.ts'
export { endOnCrash } from './join/crashing.ts'
export { ConfigError, describeConfig, readConfig, type Config, type ConfigOrigins } from './config/index.ts'
export { readFirstKey } from './join/first-key.ts'
export type { KeyRequest, Keys } from './join/keys.ts'

/**
 * Starts a server and takes over what an earlier one left running. Resolves when it answers requests.
 * @throws the system's error when it cannot listen; ConfigError or ParleyError when it must not start.
 */
export async function startServer(config: Config, joints: Joints = {}): Promise<Server> {
  return (await import('./join/compose.ts')).startServer(config, joints)
}

/** Opens the keys of the configured data directory; needs no running server. */
export async function openKeys(config: Pick<Config, 'dataDir' | 'sessionApiKeys'>): Promise<Keys> {
  return (await import('./join/keys.ts')).openKeys(config)
}

/** What this machine can do for a server, each asked by trying it. */
export async function openPreflight(): Promise<typeof Preflight> {
  return import('./preflight.ts')
}
