import { ParleyError } from '@parley/protocol'
import { canCondense } from '../../agent/index.ts'
import { refusalOf } from '../live/ask.ts'
import type { ConversationRecord } from '../record/record.ts'

const NO_CONDENSER =
  'This conversation has no condenser that could shorten it. Start it with a condenser in its agent, for instance ' +
  '{"kind": "LLMSummarizingCondenser", "llm": {…}}.'

/**
 * Those who wait for a shorter view of one conversation; what they get is one and the same. Nothing of the wish is stored: who
 * asked learns how it ended, and nothing stays pending. Source: agent-core.md 1.17, F47.
 */
export class CondensationWish {
  #waiting: PromiseWithResolvers<void> | null = null

  get isOpen(): boolean {
    return this.#waiting !== null
  }

  /** Settles with the wish. @throws ParleyError `bad_request` when the agent has no condenser for it. */
  open({ agent }: Pick<ConversationRecord, 'agent'>): Promise<void> {
    if (!canCondense(agent.condenser)) throw new ParleyError('bad_request', NO_CONDENSER)
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  /** The view is shorter, or cannot be made so because of `error`. Without a wish nothing happens. */
  settle(error?: unknown): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (error === undefined) waiting?.resolve()
    else waiting?.reject(refusalOf(error))
  }

  /** Nobody goes on with it: a person interrupted it, or the server lets go of the conversation. */
  cancel(isInterrupted: boolean): void {
    this.settle(
      isInterrupted
        ? new ParleyError('conflict', 'Shortening the conversation was interrupted. Ask for it again.')
        : new ParleyError(
            'unavailable',
            'The server let go of the conversation while it was being shortened. Ask for it again.',
          ),
    )
  }
}
