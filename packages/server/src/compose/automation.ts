/** Completion callbacks for runs of conversations in remote workspaces. */
import { join } from 'node:path'
import type { Config } from '../config/index.ts'
import type { Coordination } from '../coordination/index.ts'
import { runEnd, type RunObserver } from '../conversation/index.ts'
import type { Log } from '../observability/index.ts'
import type { Storage } from '../storage/index.ts'
import { openCompletions } from '../workspace/index.ts'

export type Automation = AsyncDisposable & {
  /** Null without a callback target. */
  runs: Pick<RunObserver, 'began' | 'ended'> | null
  /** Sends the callbacks of nodes that have ended. */
  recover(): Promise<void>
}

export function openAutomation(
  config: Config,
  storage: Pick<Storage, 'conversations' | 'callbacks'>,
  coordination: Pick<Coordination, 'node' | 'onOrphans'>,
  log: Log,
): Automation {
  const { automation: target } = config
  if (target === null)
    return { runs: null, recover: async () => undefined, [Symbol.asyncDispose]: async () => undefined }
  // A run does not fail because its callback cannot be recorded.
  const recorded = (id: string, work: Promise<void>) =>
    work.catch((error: unknown) => log.error({ conversation_id: id, err: error }, 'completion callback not recorded'))
  const completions = openCompletions({
    target,
    store: storage.callbacks,
    coordination,
    endOf: async (id) => {
      const row = await storage.conversations.get(id)
      // The costs are left out: they would need the whole conversation.
      return runEnd('running', { execution_status: row?.status ?? 'deleting', stats: {} })
    },
    oldFolder: join(config.dataDir, 'callbacks'),
    log,
  })
  return {
    runs: {
      began: async (id, { workspace }) => {
        if (workspace.kind === 'RemoteWorkspace') await recorded(id, completions.began(id))
      },
      ended: async (id, { workspace }, end) => {
        if (workspace.kind === 'RemoteWorkspace') await recorded(id, completions.ended(id, end))
      },
    },
    recover: () => completions.recover(),
    [Symbol.asyncDispose]: () => completions[Symbol.asyncDispose](),
  }
}
