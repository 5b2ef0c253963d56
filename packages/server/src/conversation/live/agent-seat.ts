import type { Agent } from '../../agent/index.ts'
import type { Core } from './core.ts'

/** The agent of one conversation: opened when it is first needed, and only once at a time. */
export class AgentSeat {
  readonly #core: Pick<Core, 'id' | 'owner' | 'epoch' | 'log' | 'deps'>
  #agent: Promise<Agent> | null = null
  #opened: Agent | null = null

  constructor(core: Pick<Core, 'id' | 'owner' | 'epoch' | 'log' | 'deps'>) {
    this.#core = core
  }

  /** The agent; whoever asks first opens it. Rejects when it cannot be opened; the next one tries again. */
  open(): Promise<Agent> {
    const { id, owner, epoch, log, deps } = this.#core
    this.#agent ??= deps
      .openAgent(
        {
          id,
          owner,
          record: log.record,
          epoch,
          secrets: () => log.record.secrets ?? {},
          current: () => log.record,
        },
        new AbortController().signal,
      )
      .then((agent) => (this.#opened = agent))
      .catch((error: unknown) => {
        this.#agent = null
        throw error
      })
    return this.#agent
  }

  /** Whether the agent has work open that would be lost with it. */
  get isHolding(): boolean {
    return this.#agent !== null && this.#opened?.isHolding?.() === true
  }

  /** The agent that was opened, or is being opened; null for none. */
  async current(): Promise<Agent | null> {
    return (await this.#agent?.catch(() => null)) ?? null
  }

  /** Gives the agent away: whoever asks next opens another one. */
  leave(): Promise<Agent | null> {
    const left = this.current()
    this.#agent = null
    return left
  }
}
