/** The contract suite of a store: `storageContract('sqlite', makeSqlitePlace)`. */
import { describe } from 'vitest'
import { appendContract } from './contract/appends.ts'
import { auditContract } from './contract/audit.ts'
import { checkpointContract } from './contract/checkpoints.ts'
import { crashContract } from './contract/crash.ts'
import { feedContract } from './contract/feed.ts'
import { fileContract } from './contract/files.ts'
import { idempotencyContract } from './contract/idempotency.ts'
import { keepsakeContract } from './contract/keepsakes.ts'
import { listingContract } from './contract/listing.ts'
import { loginContract } from './contract/logins.ts'
import { noteContract } from './contract/notes.ts'
import { outlineContract } from './contract/outline.ts'
import { outboxContract } from './contract/outbox.ts'
import { owningContract } from './contract/owning.ts'
import { pagingContract } from './contract/paging.ts'
import { receivedContract } from './contract/received.ts'
import { targetsContract } from './contract/targets.ts'
import { usageContract } from './contract/usage.ts'
import { vaultContract } from './contract/vault.ts'
import { workspaceContract } from './contract/workspaces.ts'
import type { MakePlace } from '../../packages/server/testing/store-fixtures.ts'

export function storageContract(name: string, makePlace: MakePlace): void {
  describe(`a ${name} store`, () => {
    appendContract(makePlace)
    owningContract(makePlace)
    pagingContract(makePlace)
    outlineContract(makePlace)
    listingContract(makePlace)
    usageContract(makePlace)
    feedContract(makePlace)
    vaultContract(makePlace)
    loginContract(makePlace)
    keepsakeContract(makePlace)
    noteContract(makePlace)
    checkpointContract(makePlace)
    fileContract(makePlace)
    outboxContract(makePlace)
    targetsContract(makePlace)
    receivedContract(makePlace)
    auditContract(makePlace)
    idempotencyContract(makePlace)
    workspaceContract(makePlace)
    crashContract(makePlace)
  })
}
