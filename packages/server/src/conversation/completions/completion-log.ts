/**
 * The completion log of a conversation in memory: requests to models and their answers, sent to watchers and written to files.
 * Source: docs/models.md, Completion log.
 *
 * Invariants
 *   C1. Nothing waits for it but the end of the conversation in memory, and no failure of it leaves it.
 *   C2. Nothing is sent or written before its secrets are masked.
 *   C3. At most `MAX_PENDING` completions are in memory; further ones are left out.
 */
import type { ConversationId } from '@parley/protocol'
import type { LlmCompletion } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { ConversationStore } from '../../storage/index.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import type { Channel } from '../watch/channel.ts'
import { CompletionFiles, completionFolder } from './completion-files.ts'
import { shownCompletion, type ShownCompletion } from './completion-text.ts'

const MAX_PENDING = 8

export type CompletionLogDeps = {
  storage: { conversations: Pick<ConversationStore, 'countFiles'> }
  /** The folder of a conversation outside its workspace. */
  folderOf: (id: ConversationId) => string
  /** Which limit of the owner is used up; null: none. */
  usedUp: (owner: string) => Promise<{ code: string } | null>
  log: Pick<Log, 'warn'>
}

type Live = Pick<LiveReader, 'id' | 'owner' | 'masker' | 'record' | 'isClosed'> & Pick<LiveActions, 'inBackground'>

export class CompletionLog {
  readonly #live: Live
  readonly #channel: Pick<Channel, 'watchers' | 'emit'>
  readonly #deps: CompletionLogDeps
  readonly #files: CompletionFiles
  #pending = 0
  #last: Promise<void> = Promise.resolve()
  /** True while completions are lost, which is reported once. */
  #isFailing = false

  constructor(live: Live, channel: Pick<Channel, 'watchers' | 'emit'>, deps: CompletionLogDeps) {
    this.#live = live
    this.#channel = channel
    this.#deps = deps
    const { id } = live
    const count = (bytes: number) => deps.storage.conversations.countFiles(id, bytes)
    this.#files = new CompletionFiles(completionFolder(deps.folderOf(id)), count)
  }

  /** Takes a completion. Returns at once. */
  take(completion: LlmCompletion): void {
    // Its folder may be removed: what is not taken by then is lost.
    if (this.#live.isClosed()) return
    if (this.#pending >= MAX_PENDING) return this.#failed(new Error('more completions than can be written'))
    this.#pending += 1
    this.#last = this.#last.then(() => this.#keep(completion)).finally(() => (this.#pending -= 1))
    // As a task of the conversation, which stays in memory until it has ended.
    this.#live.inBackground(() => this.#last).catch(() => undefined)
  }

  /** Resolves when everything that was taken is written. */
  settled(): Promise<void> {
    return this.#last
  }

  async #keep(completion: LlmCompletion): Promise<void> {
    try {
      const shown = await shownCompletion(completion, await this.#live.masker())
      if (this.#channel.watchers > 0) this.#channel.emit({ kind: 'completion', completion: await shown.forFrame() })
      await this.#write(shown)
      this.#isFailing = false
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Not for a conversation that is in memory only. */
  async #write({ filename, forFile }: ShownCompletion): Promise<void> {
    const { owner, record } = this.#live
    if (record().persistence_dir === null) return
    if ((await this.#deps.usedUp(owner))?.code === 'StoredBytesReached')
      throw new Error('the user has no room for stored bytes')
    await this.#files.add(filename, await forFile())
  }

  #failed(err: unknown): void {
    if (!this.#isFailing)
      this.#deps.log.warn({ conversation_id: this.#live.id, err }, 'completion of a model not logged')
    this.#isFailing = true
  }
}
