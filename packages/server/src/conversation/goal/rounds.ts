import {
  textContent,
  type AgentBase,
  type ConversationState,
  type Draft,
  type LLM,
  type TreeEvent,
} from '@parley/protocol'
import type { OpenLlm } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Storage } from '../../storage/index.ts'
import { readBranch } from '../branch/reader.ts'
import { conversationError, describe } from '../drafts.ts'
import type { ConversationHooks } from '../hooks/conversation-hooks.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import type { Submission } from '../submission.ts'
import { afterVerdict, followUpOf, GOAL_SENDER, interrupted } from './goal.ts'
import { judgeGoal } from './judge.ts'

export type GoalDeps = {
  storage: Pick<Storage, 'events'>
  openLlm?: OpenLlm | undefined
  /** The model that judges goals. Absent: the agent's own. @throws ParleyError `bad_request` when there is none. */
  judgeModel: (owner: string, agent: AgentBase) => Promise<LLM>
  log: Pick<Log, 'warn'>
}

type Live = Pick<LiveReader, 'id' | 'owner' | 'state' | 'record'> & Pick<LiveActions, 'untilStored' | 'append'>

/** The verdicts on one conversation's goal, one at a time. */
export class GoalRounds {
  readonly #live: Live
  readonly #hooks: ConversationHooks
  readonly #deps: GoalDeps
  #judging: AbortController | null = null

  constructor(live: Live, hooks: ConversationHooks, deps: GoalDeps) {
    this.#live = live
    this.#hooks = hooks
    this.#deps = deps
  }

  /** Gets a verdict and stores its consequence: the end of the goal, or the next message. A failure of the judge interrupts the goal. */
  async judge(signal: AbortSignal): Promise<void> {
    const { id, state } = this.#live
    const { goal } = state()
    if (goal?.active !== true) return
    const judging = new AbortController()
    this.#judging = judging
    try {
      const drafts = await this.#verdict(goal.objective, AbortSignal.any([signal, judging.signal]))
      await this.#commit(drafts, signal)
    } catch (error) {
      signal.throwIfAborted()
      // The goal is over meanwhile: the verdict is not needed.
      if (judging.signal.aborted) return
      this.#deps.log.warn({ conversation_id: id, err: error }, 'goal verdict failed')
      const { code, detail } = describe(error)
      const failure = conversationError(code, `The goal could not be judged: ${detail} Resume it to try again.`)
      await this.#commit((now) => [...interrupted(now), failure], signal)
    } finally {
      this.#judging = null
    }
  }

  /** Called after each commit: cancels the verdict on a goal that is over. */
  changed(): void {
    if (this.#live.state().goal?.active !== true) this.#judging?.abort()
  }

  async #verdict(objective: string, signal: AbortSignal): Promise<(now: ConversationState) => readonly Draft[]> {
    const { openLlm, judgeModel } = this.#deps
    const { owner, state, record } = this.#live
    if (openLlm === undefined) throw new Error('there is no model to judge with')
    const { agent } = record()
    const config = await judgeModel(owner, agent)
    const { verdict, drafts } = await judgeGoal(objective, await this.#branch(), { openLlm, config }, signal)
    const text = followUpOf(state(), verdict)
    const submission = text === null ? undefined : await this.#submit(text, signal)
    return (now) => [...drafts, ...afterVerdict(now, verdict, submission)]
  }

  /** The active branch without the messages that hooks have blocked, root first. */
  async #branch(): Promise<TreeEvent[]> {
    const { id, state } = this.#live
    const path = await readBranch(this.#deps.storage.events, id, state().leaf_event_id)
    return path.map(({ event }) => event).filter((event) => !Object.hasOwn(state().blocked_messages, event.id))
  }

  /** The next message after the hooks ran; undefined when no hook inspects messages. */
  async #submit(text: string, signal: AbortSignal): Promise<Submission | undefined> {
    if (!this.#hooks.inspectsMessages) return undefined
    return this.#hooks.submit([textContent(text)], this.#live.state().hook_config, signal, { sender: GOAL_SENDER })
  }

  /** Stores the drafts that `make` returns for the state of that moment. */
  #commit(make: (now: ConversationState) => readonly Draft[], signal: AbortSignal): Promise<unknown> {
    const { untilStored, append, state } = this.#live
    return untilStored(async () => {
      signal.throwIfAborted()
      return append(make(state()))
    }, signal)
  }
}
