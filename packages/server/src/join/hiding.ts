/** Joins everything that may be secret in a conversation: its owner's secrets, its own, and the credentials in its record. */
import type { ConversationRecord, HeartDeps } from '../conversation/index.ts'
import { secretValues, type Masker } from '../secrets/index.ts'
import type { CommandSecrets } from '../settings/index.ts'
import type { JoinedSecrets } from './steering.ts'

export type Hiding = {
  /** Hides in drafts, before they become events. */
  mask: NonNullable<HeartDeps['mask']>
  /** Hides in texts. */
  masker: (owner: string, record: ConversationRecord) => Promise<Masker>
}

export function joinHiding(commandSecrets: CommandSecrets, ownSecrets: Pick<JoinedSecrets, 'valuesOf'>): Hiding {
  // What a look-up answered is in no record; a model's key, a workspace's, an MCP server's are.
  const valuesOf = (record: ConversationRecord) => [...ownSecrets.valuesOf(record), ...secretValues(record)]
  return {
    mask: (drafts, owner, record) => commandSecrets.mask(owner, drafts, valuesOf(record)),
    masker: (owner, record) => commandSecrets.masker(owner, valuesOf(record)),
  }
}
