import { ParleyError, type EventId } from '@parley/protocol'
import { Mailbox } from '../../lib/index.ts'
import type { Command } from '../conversations.ts'
import { statusChanged } from '../drafts.ts'
import type { ConversationHooks } from '../hooks/conversation-hooks.ts'
import { RunCancelled } from '../interruption.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import type { MessageContent } from '../record/record.ts'
import { isReady } from '../record/start-status.ts'
import type { Submission } from '../submission.ts'

/** Upper limit of messages that wait for the end of a start: they are part of the record, which is written as a whole. */
const MAX_PENDING_MESSAGES = 100

/** A message that a command sends to the agent. `sender`: set when no person sends it. `id`: the id that it was sent under. */
export type OutgoingMessage = { content: MessageContent; sender: string | null; id?: EventId | undefined }

type Live = Pick<LiveReader, 'state' | 'record'> & Pick<LiveActions, 'inBackground' | 'append' | 'start' | 'startRun'>

/** Messages on their way in: hooks inspect them, and before the end of the start they are kept in the record. */
export class MessageIntake {
  readonly #live: Live
  readonly #hooks: ConversationHooks
  /** Messages are inspected one at a time, in the order of arrival; nothing else waits for them (F65). */
  readonly #inspections = new Mailbox()

  constructor(live: Live, hooks: ConversationHooks) {
    this.#live = live
    this.#hooks = hooks
  }

  /** Calls `apply` with the message after the hooks ran; without an argument when no hook inspects messages. */
  async inspected(message: () => OutgoingMessage, apply: (submission?: Submission) => Promise<void>): Promise<void> {
    if (!isReady(this.#live.state()) || !this.#hooks.inspectsMessages) return apply()
    const outgoing = message()
    return this.#inspections.run(async () => apply(await this.#submit(outgoing)))
  }

  /** Only in a turn, before the start has ended. @throws ParleyError `conflict` when too many messages wait already. */
  async keepForLater(command: Extract<Command, { kind: 'send_message' }>): Promise<void> {
    const { state, record, append, startRun, start } = this.#live
    const { pending_messages: pending } = record()
    if (pending.length >= MAX_PENDING_MESSAGES) {
      throw new ParleyError(
        'conflict',
        `${MAX_PENDING_MESSAGES} messages wait for the start of this conversation already. Send more when it has started.`,
      )
    }
    const startsRunning = command.run && state().execution_status !== 'running'
    const drafts = startsRunning ? [statusChanged('running')] : []
    const ids = pending.map((_, index) => record().pending_ids?.[index] ?? null)
    const change = {
      pending_messages: [...pending, command.content],
      pending_ids: [...ids, command.event_id ?? null],
    }
    await append(drafts, { ...record(), ...change })
    if (command.run) startRun()
    else start().catch(() => undefined)
  }

  async #submit({ content, sender, id }: OutgoingMessage): Promise<Submission> {
    const { hook_config } = this.#live.state()
    try {
      return await this.#live.inBackground((signal) => this.#hooks.submit(content, hook_config, signal, { sender, id }))
    } catch (error) {
      if (!(error instanceof RunCancelled)) throw error
      throw new ParleyError(
        'unavailable',
        'The server unloaded the conversation while hooks inspected the message. Send it again.',
      )
    }
  }
}
