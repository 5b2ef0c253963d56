import type { Agent } from '../../agent/index.ts'
import type { LiveReader } from '../live-access.ts'
import type { LiveDeps } from './deps.ts'

type Opening = Pick<
  LiveReader,
  'id' | 'owner' | 'epoch' | 'record' | 'hasBudget' | 'note' | 'logCompletion' | 'liveOutput'
>

/** The agent of one conversation: opened on first use, and only once at a time. */
export class LazyAgent {
  readonly #live: Opening
  readonly #openAgent: LiveDeps['openAgent']
  #agent: Promise<Agent> | null = null
  #opened: Agent | null = null

  constructor(live: Opening, openAgent: LiveDeps['openAgent']) {
    this.#live = live
    this.#openAgent = openAgent
  }

  /** Returns the agent; the first caller opens it. Rejects when it cannot be opened; the next call tries again. */
  open(): Promise<Agent> {
    const { id, owner, epoch, record, hasBudget, note, logCompletion, liveOutput } = this.#live
    const opening = {
      id,
      owner,
      epoch,
      // Read when it is needed: an agent that keeps a record would keep all of it in memory, also when it is out of date.
      get record() {
        return record()
      },
      secrets: () => record().secrets ?? {},
      current: record,
      hasBudget,
      note,
      logCompletion,
      liveOutput,
    }
    this.#agent ??= this.#openAgent(opening, new AbortController().signal)
      .then((agent) => (this.#opened = agent))
      .catch((error: unknown) => {
        this.#agent = null
        throw error
      })
    return this.#agent
  }

  /** True while an agent is open, or being opened. */
  get isOpen(): boolean {
    return this.#agent !== null
  }

  /** True while the agent has work open that would be lost with it. */
  get isHolding(): boolean {
    return this.#agent !== null && this.#opened?.hasOpenWork?.() === true
  }

  /** Returns the agent that is open or being opened; null when there is none. */
  async current(): Promise<Agent | null> {
    return (await this.#agent?.catch(() => null)) ?? null
  }

  /** Passes the agent to the caller; the next `open` opens another one. */
  release(): Promise<Agent | null> {
    const released = this.current()
    this.#agent = null
    return released
  }
}
