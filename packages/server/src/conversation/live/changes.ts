import type { Draft, LLM } from '@parley/protocol'
import type { Command } from '../conversations.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import { withAcpModel, withModel, withSecrets } from '../record/changes.ts'
import type { ConversationRecord, SecretSources } from '../record/record.ts'
import { expectAwaited } from './client-calls.ts'
import type { LiveDeps } from './deps.ts'

type Live = Pick<LiveReader, 'id' | 'epoch' | 'state' | 'record'> &
  Pick<LiveActions, 'inTurn' | 'append' | 'currentAgent'>

/** Changes of one conversation that its events do not carry: title and tags, models, secrets, results of clients. */
export class Changes {
  readonly #live: Live
  readonly #deps: Pick<LiveDeps, 'storage' | 'openLlm' | 'clientCalls'>

  constructor(live: Live, deps: Pick<LiveDeps, 'storage' | 'openLlm' | 'clientCalls'>) {
    this.#live = live
    this.#deps = deps
  }

  /** Changes the record; the drafts show the change to watchers. */
  async update(change: Partial<ConversationRecord>, drafts: readonly Draft[]): Promise<void> {
    const { record, inTurn, append } = this.#live
    await inTurn(() => append(drafts, { ...record(), ...change }, 'title' in change || 'tags' in change))
  }

  /** Stored first: an agent that is opened later begins with it. @throws ParleyError `bad_request`; the error of opening the model */
  switchLlm(llm: LLM): Promise<void> {
    const { record, inTurn, append, currentAgent } = this.#live
    return inTurn(async () => {
      const changed = withModel(record(), llm)
      // A model that cannot be opened is refused before it is stored.
      this.#deps.openLlm?.(llm)
      await append(changed.drafts, changed.record)
      const { agent } = changed.record
      if (agent.kind === 'Agent') (await currentAgent())?.reconfigure(agent)
    })
  }

  /**
   * The agent's program is asked outside of a turn, because the events that it sends meanwhile have to be stored.
   * @throws ParleyError `bad_request`; the refusal of the program
   */
  async switchAcpModel(model: string): Promise<void> {
    const { state, record, inTurn, append, currentAgent } = this.#live
    // Checked before the program is asked.
    withAcpModel(record(), model)
    const asked = await currentAgent()
    const draftsOf = await asked?.switchModel?.(model)
    await inTurn(async () => {
      const changed = withAcpModel(record(), model)
      await append([...changed.drafts, ...(draftsOf?.(state()) ?? [])], changed.record)
    })
    // An agent that was opened meanwhile began with the model that was stored before.
    const opened = await currentAgent()
    if (opened === asked) return
    const lateDraftsOf = await opened?.switchModel?.(model)
    await inTurn(() => append(lateDraftsOf?.(state()) ?? []))
  }

  /** Commands and requests use them from now on. */
  async setSecrets(secrets: SecretSources): Promise<void> {
    const { record, inTurn, append } = this.#live
    await inTurn(() => append([], withSecrets(record(), secrets)))
  }

  /**
   * Takes the result of an open call. The waiting run continues with it, or the next run begins with it.
   * @throws ParleyError `not_found`, `bad_request` or `conflict` for a call that awaits no result
   */
  takeResult({ action_id, result }: Extract<Command, { kind: 'client_result' }>): Promise<void> {
    const { id, epoch, state, record, inTurn } = this.#live
    return inTurn(async () => {
      const stored = await this.#deps.storage.events.get(id, action_id)
      expectAwaited(state(), record(), action_id, stored !== null)
      await this.#deps.clientCalls.take({ id, epoch }, action_id, result)
    })
  }
}
