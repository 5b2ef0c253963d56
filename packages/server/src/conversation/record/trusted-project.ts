import { isTrusted } from '../../workspace/index.ts'
import type { ConversationRecord } from './record.ts'

/** True when the operator trusts the project: its repository, or without one its folder. */
export const isTrustedProject = (
  { repository, workspace }: Pick<ConversationRecord, 'repository' | 'workspace'>,
  trusted: readonly string[],
): boolean => isTrusted(repository?.slug ?? workspace.working_dir, trusted)
