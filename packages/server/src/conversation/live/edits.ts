/** Messages that continue at another event than the leaf: the navigation and the message are one commit. */
import { ParleyError, type Draft } from '@parley/protocol'
import { decide, type Decision } from '../commands.ts'
import type { Actor, Command } from '../conversations.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import { stamp } from '../log/stamp.ts'
import { isReady } from '../record/start-status.ts'
import type { CondensationRequest } from '../run/condensation-request.ts'
import type { Running } from '../run/running.ts'
import type { Submission } from '../submission.ts'
import { approvalsOf } from './approvals.ts'
import type { LiveDeps } from './deps.ts'
import { expectAtRest, targetOf } from './navigation.ts'

type Message = Extract<Command, { kind: 'send_message' }>
type Live = Pick<LiveReader, 'id' | 'state'> & Pick<LiveActions, 'openAgent' | 'append'>

export class Edits {
  readonly #live: Live
  readonly #parts: { running: Running; condensation: CondensationRequest }
  readonly #deps: Pick<LiveDeps, 'storage' | 'shownBatches'>

  constructor(
    live: Live,
    parts: { running: Running; condensation: CondensationRequest },
    deps: Pick<LiveDeps, 'storage' | 'shownBatches'>,
  ) {
    this.#live = live
    this.#parts = parts
    this.#deps = deps
  }

  /**
   * Refuses a message with a parent before hooks inspect it; a message without one is always possible.
   * @throws ParleyError `not_found` for an unknown event; `conflict` while the conversation starts, runs or is condensed
   */
  async expectPossible(message: Message): Promise<void> {
    if (message.parent_event_id === undefined) return
    this.expectReady()
    await expectAtRest(this.#live, this.#parts.running, this.#parts.condensation)
    await this.#moving(message, NO_APPROVALS)
  }

  /** @throws ParleyError `conflict` before the end of the start */
  expectReady(): void {
    if (isReady(this.#live.state())) return
    throw new ParleyError(
      'conflict',
      'The conversation has not started, so a message cannot continue at an event of it.',
    )
  }

  /** Commits the navigation and the message. Only in a turn. @throws as `expectPossible` */
  async commit(message: Message, actor: Actor, submission?: Submission): Promise<Decision> {
    const { id, state, openAgent, append } = this.#live
    const { events } = this.#deps.storage
    const approvals = await approvalsOf({ id, state }, actor, { events, shownBatches: this.#deps.shownBatches })
    const moving = await this.#moving(message, approvals)
    // The message is decided about in the state that the navigation leads to.
    const there = stamp(state(), moving, { now: () => new Date() }).state
    const preamble = there.has_system_prompt ? [] : (await openAgent()).preamble(there)
    const decision = decide(there, message, approvals, preamble, submission)
    await append([...moving, ...decision.drafts])
    return { ...decision, snapshot: true }
  }

  async #moving({ parent_event_id }: Message, approvals: Parameters<typeof decide>[2]): Promise<Draft[]> {
    const { state } = this.#live
    return decide(
      state(),
      await targetOf(parent_event_id ?? null, this.#live, this.#deps.storage.events),
      approvals,
      [],
    ).drafts
  }
}

/** A navigation approves nothing. */
const NO_APPROVALS = { actor: '', isShown: false, actions: [] }
