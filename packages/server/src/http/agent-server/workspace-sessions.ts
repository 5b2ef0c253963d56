import { hashKey, type Cipher } from '../../secrets/index.ts'
import type { Logins } from '../../settings/index.ts'
import type { WorkspaceSessions } from './workspace-files.ts'

/** Distinguishes these tokens from other texts that the cipher sealed. */
const PURPOSE = 'workspace-session'

/** Tokens that hold a sealed hash of the key: a token reveals nothing and is valid only as long as its key, or login session. */
export function openWorkspaceSessions(
  cipher: Pick<Cipher, 'seal' | 'open'>,
  logins: Pick<Logins, 'byHash'>,
): WorkspaceSessions {
  return {
    issue: (key) => cipher.seal(JSON.stringify([PURPOSE, hashKey(key)])),
    async actorOf(token) {
      const hash = hashIn(token, cipher)
      return hash === null ? null : logins.byHash(hash)
    },
  }
}

function hashIn(token: string, cipher: Pick<Cipher, 'open'>): string | null {
  try {
    const [purpose, hash] = JSON.parse(cipher.open(token)) as unknown[]
    return purpose === PURPOSE && typeof hash === 'string' ? hash : null
  } catch {
    // Not a token of this server, or one that was sealed with an earlier key.
    return null
  }
}
