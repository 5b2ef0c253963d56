/** The address that a start prints for people. */
import type { Config } from '../config/index.ts'
import { readFirstKey, type Logins } from '../settings/index.ts'

/**
 * The address of the web UI, with a login code where this process knows a valid key: one of the environment, or that of the first start.
 * Null: the UI is switched off.
 * @param logins null: no code
 */
export async function uiLinkOf(
  { ui, withoutKeys, sessionApiKeys, dataDir }: Pick<Config, 'ui' | 'withoutKeys' | 'sessionApiKeys' | 'dataDir'>,
  url: string,
  logins: Pick<Logins, 'authenticate' | 'makeCode'> | null,
): Promise<{ url: string; isLoggedIn: boolean } | null> {
  if (!ui) return null
  if (withoutKeys) return { url: `${url}/`, isLoggedIn: true }
  const key = sessionApiKeys[0] ?? (await readFirstKey(dataDir))
  if (logins === null || key === null || (await logins.authenticate(key)) === null)
    return { url: `${url}/`, isLoggedIn: false }
  const { code } = await logins.makeCode(key)
  return { url: `${url}/#login=${code}`, isLoggedIn: true }
}
