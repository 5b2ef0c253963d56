/** Decides from the events of a conversation alone when a turn is over. */
import type { ShownEvent } from './render.ts'

/**
 * A turn is over when a run that began after its message has ended. Messages are ordered by their position in the log: the end of a
 * run that precedes the message does not count for it.
 */
export class Turn {
  #status: string
  /** Messages that were sent and are not yet in the log. */
  #unseen = 0
  /** The message is in the log, but its run has not begun. */
  #awaitsRun = false

  /** The newest batch that a person was asked about; undefined before the first one. */
  batchId: string | undefined

  constructor(status: string) {
    this.#status = status
  }

  get status(): string {
    return this.#status
  }

  get isOver(): boolean {
    return this.#unseen === 0 && !this.#awaitsRun && this.#status !== 'running'
  }

  /** The next user message in the log is one of ours. */
  get isAwaitingMessage(): boolean {
    return this.#unseen > 0
  }

  /** Call before sending a message that starts a run. */
  asked(): void {
    this.#unseen += 1
  }

  /** Call when the message could not be sent. */
  refused(): void {
    this.#unseen = Math.max(0, this.#unseen - 1)
  }

  /** Call before starting a run without a message, for example by an approval. */
  resumed(): void {
    this.#awaitsRun = this.#status !== 'running'
  }

  see(event: ShownEvent): void {
    switch (event.kind) {
      case 'MessageEvent':
        if (event.source !== 'user' || this.#unseen === 0) return
        this.#unseen -= 1
        // A run in progress includes the message.
        this.#awaitsRun = this.#status !== 'running'
        return
      case 'ConversationStateUpdateEvent':
        if (event.key === 'execution_status') this.statusIs(String(event.value))
        if (event.key === 'confirmation_request') this.batchId = (event.value as { batch_id?: string }).batch_id
        // A hook refused the message: no run follows.
        if (event.key === 'blocked_messages') this.#awaitsRun = false
        return
      case 'StatusChangedEvent':
        this.statusIs(event.status)
        return
      default:
    }
  }

  statusIs(status: string): void {
    // A repeated state, as after a reconnect, does not concern later messages.
    const hasStopped = status !== this.#status && ['paused', 'error', 'stuck'].includes(status)
    if (status === 'running' || hasStopped) this.#awaitsRun = false
    this.#status = status
  }
}
