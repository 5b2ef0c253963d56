import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, isLoopback, type Config } from '../config/index.ts'
import { DEFAULT_USER, type Identities } from '../settings/index.ts'

/**
 * With no key configured and none stored, makes one for the default user and keeps it readable for the owner of the data
 * directory, so that the command line on this machine finds it. Null when there is one. Source: design.md 3, Identity.
 * @throws ConfigError on an address that others reach.
 */
export async function firstKeyOf(
  config: Pick<Config, 'withoutKeys' | 'sessionApiKeys' | 'host' | 'dataDir'>,
  identities: Identities,
): Promise<string | null> {
  if (config.withoutKeys || config.sessionApiKeys.length > 0) return null
  if ((await identities.list()).length > 0) return null
  if (!isLoopback(config.host)) {
    throw new ConfigError(
      `no key is configured, so the server listens on this machine only, not on ${config.host}; ` +
        'set PARLEY_SESSION_API_KEYS or make a key with: parley keys create',
    )
  }
  const { key } = await identities.create({ user: DEFAULT_USER, role: 'admin', label: 'first key', expiresAt: null })
  await writeFile(join(config.dataDir, 'first-key'), `${key}\n`, { mode: 0o600 })
  return key
}
