/** Whether a conversation still owes something for what was asked of it, judged by its events alone. */
import type { ShownEvent } from './render.ts'

/**
 * A turn is over when a run that began after the request has ended. What was asked is known by its place in the log: an end
 * that was already on its way when a message was sent does not count for that message.
 */
export class Turn {
  #status: string
  /** Messages sent and not yet seen in the log. */
  #unseen = 0
  /** What was asked stands in the log, but the run that is to follow has not begun. */
  #awaitsRun = false

  constructor(status: string) {
    this.#status = status
  }

  get status(): string {
    return this.#status
  }

  get isOver(): boolean {
    return this.#unseen === 0 && !this.#awaitsRun && this.#status !== 'running'
  }

  /** The next message of a person that comes is one of ours. */
  get isAwaitingMessage(): boolean {
    return this.#unseen > 0
  }

  /** Call before a message is sent that is to be answered. */
  asked(): void {
    this.#unseen += 1
  }

  /** Call when the message could not be sent. */
  refused(): void {
    this.#unseen = Math.max(0, this.#unseen - 1)
  }

  /** Call before a run is asked for without a message: after an approval, for example. */
  resumed(): void {
    this.#awaitsRun = this.#status !== 'running'
  }

  see(event: ShownEvent): void {
    switch (event.kind) {
      case 'MessageEvent':
        if (event.source !== 'user' || this.#unseen === 0) return
        this.#unseen -= 1
        // A run that goes on takes the message up by itself.
        this.#awaitsRun = this.#status !== 'running'
        return
      case 'ConversationStateUpdateEvent':
        if (event.key === 'execution_status') this.statusIs(String(event.value))
        // A hook refused the message: no run will follow it.
        if (event.key === 'blocked_messages') this.#awaitsRun = false
        return
      case 'StatusChangedEvent':
        this.statusIs(event.status)
        return
      default:
    }
  }

  statusIs(status: string): void {
    // A state that is only repeated, as after a reconnect, says nothing about what was asked since.
    const hasStopped = status !== this.#status && ['paused', 'error', 'stuck'].includes(status)
    if (status === 'running' || hasStopped) this.#awaitsRun = false
    this.#status = status
  }
}
