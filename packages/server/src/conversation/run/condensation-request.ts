import { ParleyError } from '@parley/protocol'
import { canCondense } from '../../agent/index.ts'
import { refusalOf } from './model-refusal.ts'
import type { ConversationRecord } from '../record/record.ts'

const NO_CONDENSER =
  'This conversation has no condenser that could shorten it. Start it with a condenser in its agent, for instance ' +
  '{"kind": "LLMSummarizingCondenser", "llm": {…}}.'

/**
 * The request for a condensation of one conversation, shared by all its requesters. It is not stored: a requester learns the
 * result, and nothing remains pending. Source: agent-core.md 1.17, F47.
 */
export class CondensationRequest {
  #waiting: PromiseWithResolvers<void> | null = null

  get isOpen(): boolean {
    return this.#waiting !== null
  }

  /** Resolves when the request is served. @throws ParleyError `bad_request` when the agent has no condenser for it. */
  open({ agent }: Pick<ConversationRecord, 'agent'>): Promise<void> {
    if (!canCondense(agent.condenser)) throw new ParleyError('bad_request', NO_CONDENSER)
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  /** Settles the request: the view is shorter, or `error` prevented it. Does nothing without a request. */
  settle(error?: unknown): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (error === undefined) waiting?.resolve()
    else waiting?.reject(refusalOf(error))
  }

  /** Rejects for the requesters so far, because the store refuses what the run needs stored. The run makes the condensation later. */
  refuse(error: unknown): void {
    if (this.#waiting === null) return
    this.#waiting.reject(error)
    this.#waiting = Promise.withResolvers()
    this.#waiting.promise.catch(() => undefined)
  }

  /** Rejects the request: a person interrupted the run, or the conversation leaves memory. */
  cancel(isInterrupted: boolean): void {
    this.settle(
      isInterrupted
        ? new ParleyError('conflict', 'Shortening the conversation was interrupted. Ask for it again.')
        : new ParleyError(
            'unavailable',
            'The server unloaded the conversation during its condensation. Request it again.',
          ),
    )
  }
}
