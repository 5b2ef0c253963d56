import type { ConversationState, Draft, LLM, TreeEvent } from '@parley/protocol'
import type { OpenLlm } from '../../llm/index.ts'
import { afterVerdict, followUpOf, interrupted } from './goal.ts'
import type { Submission } from '../live/hooked.ts'
import { conversationError, describe } from '../drafts.ts'
import { judge } from './judge.ts'

/** The conversation as its goal needs it. */
export type GoalHost = {
  state(): ConversationState
  /** The active branch, root first. */
  branch(): Promise<readonly TreeEvent[]>
  /** Who judges. @throws ParleyError when nobody can. */
  model(): Promise<LLM>
  openLlm: OpenLlm | undefined
  /** Asks the hooks that look at messages about the next one; undefined where there are none. */
  submit(text: string, signal: AbortSignal): Promise<Submission | undefined>
  /** Stores what `drafts` makes of the state at that moment. */
  commit(drafts: (now: ConversationState) => readonly Draft[]): Promise<unknown>
  onFailure(error: unknown): void
}

/** The verdicts on one conversation's goal, one at a time. */
export class GoalRounds {
  readonly #host: GoalHost
  #asking: AbortController | null = null

  constructor(host: GoalHost) {
    this.#host = host
  }

  /** Asks the judge and stores what follows: the goal's end, or the next message. A judge that fails interrupts the goal. */
  async judge(signal: AbortSignal): Promise<void> {
    const { goal } = this.#host.state()
    if (goal?.active !== true) return
    const asking = new AbortController()
    this.#asking = asking
    try {
      const drafts = await this.#verdict(goal.objective, AbortSignal.any([signal, asking.signal]))
      await this.#host.commit(drafts)
    } catch (error) {
      signal.throwIfAborted()
      // Nobody wants to know any longer; what a person said instead comes next.
      if (asking.signal.aborted) return
      this.#host.onFailure(error)
      const { code, detail } = describe(error)
      const told = conversationError(code, `The goal could not be judged: ${detail} Resume it to try again.`)
      await this.#host.commit((now) => [...interrupted(now), told])
    } finally {
      this.#asking = null
    }
  }

  /** The goal has changed: a judge that is still asked about one that is over need not answer. */
  changed(): void {
    if (this.#host.state().goal?.active !== true) this.#asking?.abort()
  }

  async #verdict(objective: string, signal: AbortSignal): Promise<(now: ConversationState) => readonly Draft[]> {
    const { openLlm } = this.#host
    if (openLlm === undefined) throw new Error('there is no model to judge with')
    const deps = { openLlm, config: await this.#host.model() }
    const { verdict, drafts } = await judge(objective, await this.#host.branch(), deps, signal)
    const text = followUpOf(this.#host.state(), verdict)
    const submission = text === null ? undefined : await this.#host.submit(text, signal)
    return (now) => [...drafts, ...afterVerdict(now, verdict, submission)]
  }
}
