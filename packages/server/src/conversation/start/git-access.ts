/** A user's access to git hosts, and the identity for commits. */
import type { UserSettings } from '../../settings/index.ts'
import { gitHostOf, type GitHost, type GitToken, type Identity } from '../../workspace/index.ts'

export type GitAccess = {
  providerToken(user: string, host: GitHost): Promise<GitToken | null>
  gitIdentity(user: string): Promise<Partial<Identity>>
}

/** Reads the settings at each call, so that a token counts as soon as it is stored. */
export function gitAccess(settings: Pick<UserSettings, 'current'>): GitAccess {
  return {
    async providerToken(user, host) {
      const { provider_tokens } = await settings.current(user)
      // The host's own name takes precedence over the neutral alias.
      const spellings = Object.keys(provider_tokens).filter((name) => gitHostOf(name) === host)
      for (const name of spellings.toSorted((a, b) => Number(b === host) - Number(a === host))) {
        const { token, host: address } = provider_tokens[name]!
        if (token !== null && token !== '') return { token, host: address }
      }
      return null
    },
    async gitIdentity(user) {
      const { git_user_name, git_user_email } = (await settings.current(user)).own
      return { ...(git_user_name ? { name: git_user_name } : {}), ...(git_user_email ? { email: git_user_email } : {}) }
    },
  }
}
