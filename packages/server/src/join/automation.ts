/** Joins the runs of conversations in remote workspaces with who is told of their ends. */
import { join } from 'node:path'
import type { Config } from '../config/index.ts'
import { runEnd, type RunObserver } from '../conversation/index.ts'
import type { Log } from '../observability/index.ts'
import type { Storage } from '../storage/index.ts'
import { openCompletions } from '../workspace/index.ts'

export type Automation = AsyncDisposable & {
  /** Nothing in it when nobody is told. */
  runs: { runs?: RunObserver }
  /** Tells what an earlier process owed. */
  recover(): Promise<void>
}

export function openAutomation(config: Config, storage: Pick<Storage, 'conversations'>, log: Log): Automation {
  const { automation: target } = config
  if (target === null) return { runs: {}, recover: async () => undefined, [Symbol.asyncDispose]: async () => undefined }
  // A run does not fail because somebody cannot be told of it.
  const noted = (id: string, work: Promise<void>) =>
    work.catch((error: unknown) =>
      log.error({ conversation_id: id, err: error }, 'a run could not be noted for its callback'),
    )
  const completions = openCompletions({ target, folder: join(config.dataDir, 'callbacks'), log })
  return {
    runs: {
      runs: {
        began: async (id, { workspace }) => {
          if (workspace.kind === 'RemoteWorkspace') await noted(id, completions.began(id))
        },
        ended: (id, _, end) => noted(id, completions.ended(id, end)),
      },
    },
    recover: () =>
      completions.recover(async (id) => {
        const row = await storage.conversations.get(id)
        // What it cost is not worth reading a whole conversation for: unknown costs are left out.
        return runEnd('running', { execution_status: row?.status ?? 'deleting', stats: {} })
      }),
    [Symbol.asyncDispose]: () => completions[Symbol.asyncDispose](),
  }
}
