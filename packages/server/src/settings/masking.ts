/** Masking of all secrets in a conversation: its owner's secrets, its own, and the credentials in its record. */
import type { Draft } from '@parley/protocol'
import { secretValues, type Masker } from '../secrets/index.ts'
import type { MaskedSecrets } from '../storage/index.ts'
import type { CommandSecrets } from './command-secrets.ts'
import type { ConversationSecretAccess } from './conversation-secret-access.ts'

type MaskedRecord = Parameters<ConversationSecretAccess['valuesOf']>[0] & object

export type Masking = {
  /** Masks drafts before they become events. */
  mask: (drafts: readonly Draft[], owner: string, record: MaskedRecord) => Promise<readonly Draft[]>
  /** Masks drafts that the store accepts only with the current secrets, without a read while they are unchanged. */
  maskForCommit: (
    drafts: readonly Draft[],
    owner: string,
    record: MaskedRecord,
    refused: MaskedSecrets | null,
  ) => Promise<{ drafts: readonly Draft[]; masked: MaskedSecrets }>
  /** Masks texts. */
  masker: (owner: string, record: MaskedRecord) => Promise<Masker>
}

export function openMasking(
  commandSecrets: Pick<CommandSecrets, 'mask' | 'maskAsRead' | 'masker'>,
  ownSecrets: Pick<ConversationSecretAccess, 'valuesOf'>,
): Masking {
  // Looked-up values are in no record. Keys of models, workspaces and MCP servers are in the conversation's record.
  const valuesOf = (record: MaskedRecord) => [...ownSecrets.valuesOf(record), ...secretValues(record)]
  return {
    mask: (drafts, owner, record) => commandSecrets.mask(owner, drafts, valuesOf(record)),
    async maskForCommit(drafts, owner, record, refused) {
      const made = await commandSecrets.maskAsRead(owner, drafts, valuesOf(record), refused?.version ?? null)
      return { drafts: made.drafts, masked: { user: owner, version: made.version } }
    },
    masker: (owner, record) => commandSecrets.masker(owner, valuesOf(record)),
  }
}
