/** How users come into being, by the mode of the server. Source: docs/security.md, Modes. */
import type { NewUser } from '../storage/index.ts'
import { withSettingsRecord } from './settings-record.ts'
import { NOTHING } from './stored.ts'

/** In `shared`, new users approve risky actions; in `personal`, there is one user, who has no settings at first. */
export function newUserIn(mode: 'personal' | 'shared'): NewUser {
  if (mode === 'personal') return { isOnly: true, settings: null }
  // No member is a secret, so nothing has to be sealed.
  const careful = withSettingsRecord(NOTHING, { confirmation_mode: true, security_analyzer: 'ensemble' })
  return { isOnly: false, settings: JSON.stringify(careful) }
}
