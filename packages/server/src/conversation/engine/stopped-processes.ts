import type { ConversationId } from '@parley/protocol'
import { endsInTime } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Workspaces } from '../../workspace/index.ts'

type Remote = Parameters<Workspaces['release']>[1]

/** The processes of stopped conversations. Their end may take longer than an answer, because a hung runner is ended after a minute. */
export class StoppedProcesses {
  readonly #workspaces: Pick<Workspaces, 'release'>
  readonly #log: Pick<Log, 'warn'>
  readonly #ending = new Map<ConversationId, Promise<void>>()

  constructor(workspaces: Pick<Workspaces, 'release'>, log: Pick<Log, 'warn'>) {
    this.#workspaces = workspaces
    this.#log = log
  }

  /**
   * Ends the processes of a conversation. Resolves when none is left, or when `late` aborts; the end then continues.
   * @throws the error of the workspace, before `late`
   */
  async end(id: ConversationId, remote: Remote, late: AbortSignal): Promise<void> {
    const ending = this.#workspaces.release(id, remote)
    const settled = ending.then(
      () => undefined,
      (err: unknown) => {
        if (late.aborted) this.#log.warn({ conversation_id: id, err }, 'processes of a stopped conversation not ended')
      },
    )
    this.#ending.set(id, settled)
    void settled.then(() => this.#ending.get(id) === settled && this.#ending.delete(id))
    await endsInTime(ending, late)
  }

  /** Resolves when the end of the processes has settled, so that it cannot end those of the next start. */
  async settled(id: ConversationId): Promise<void> {
    await this.#ending.get(id)
  }
}
