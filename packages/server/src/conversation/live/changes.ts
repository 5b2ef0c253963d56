import type { Draft, LLM } from '@parley/protocol'
import { expectAwaited } from './client-calls.ts'
import type { Command } from '../conversations.ts'
import type { ConversationRecord, SecretSources } from '../record/record.ts'
import { withAcpModel, withModel, withSecrets } from '../record/changes.ts'
import type { Core } from './core.ts'

/** Changes of one conversation that its events do not carry: title and tags, models, secrets, results of clients. */
export class Changes {
  readonly #core: Pick<Core, 'id' | 'log' | 'deps' | 'mailbox' | 'agent' | 'append'>

  constructor(core: Pick<Core, 'id' | 'log' | 'deps' | 'mailbox' | 'agent' | 'append'>) {
    this.#core = core
  }

  /** Changes the record; `drafts` tell watchers about it. */
  async update(change: Partial<ConversationRecord>, drafts: readonly Draft[]): Promise<void> {
    const { log, mailbox, append } = this.#core
    await mailbox.run(async () => {
      log.record = { ...log.record, ...change }
      await append(drafts, log.record, 'title' in change || 'tags' in change)
    })
  }

  /** Stored first: an agent that is opened later begins with it. @throws ParleyError `bad_request`; whatever opening it says. */
  switchLlm(llm: LLM): Promise<void> {
    const { log, deps, mailbox, agent, append } = this.#core
    return mailbox.run(async () => {
      const { record, drafts } = withModel(log.record, llm)
      // What cannot be opened is refused before it is stored.
      deps.openLlm?.(llm)
      await append(drafts, record)
      log.record = record
      const opened = await agent.current()
      if (record.agent.kind === 'Agent') opened?.reconfigure(record.agent)
    })
  }

  /**
   * Outside of the mailbox: the agent's program is asked, and what it says meanwhile has to be stored.
   * @throws ParleyError `bad_request`; whatever the program refuses it with.
   */
  async switchAcpModel(model: string): Promise<void> {
    const { log, mailbox, agent, append } = this.#core
    // What is refused is refused before anybody is asked.
    withAcpModel(log.record, model)
    const asked = await agent.current()
    const tell = await asked?.switchModel?.(model)
    await mailbox.run(async () => {
      const { record, drafts } = withAcpModel(log.record, model)
      await append([...drafts, ...(tell?.(log.state) ?? [])], record)
      log.record = record
    })
    // One that was opened meanwhile began with what was stored before.
    const opened = await agent.current()
    if (opened === asked) return
    const late = await opened?.switchModel?.(model)
    await mailbox.run(() => append(late?.(log.state) ?? []))
  }

  /** Commands and requests use them from now on. */
  setSecrets(secrets: SecretSources): Promise<void> {
    const { log, mailbox, append } = this.#core
    return mailbox.run(async () => {
      const record = withSecrets(log.record, secrets)
      await append([], record)
      log.record = record
    })
  }

  /**
   * Takes the result of a call that is open and waits for it; the run that waits goes on, or the next one begins with it.
   * @throws ParleyError `not_found`, `bad_request` or `conflict`, saying which.
   */
  takeResult({ action_id, result }: Extract<Command, { kind: 'client_result' }>): Promise<void> {
    const { id, log, deps, mailbox } = this.#core
    return mailbox.run(async () => {
      const stored = await deps.storage.events.get(id, action_id)
      expectAwaited(log.state, log.record, action_id, stored !== null)
      await deps.clientCalls?.take(id, action_id, result)
    })
  }
}
