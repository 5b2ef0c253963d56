import { ParleyError, textContent } from '@parley/protocol'
import { Mailbox } from '../../lib/index.ts'
import type { Command } from '../conversations.ts'
import { statusChanged } from '../drafts.ts'
import { GOAL_SENDER, goalText } from '../goal/goal.ts'
import type { Hooked, Submission } from './hooked.ts'
import { RunCancelled } from '../run/interruption.ts'
import type { MessageContent } from '../record/record.ts'
import { isReady } from '../start/phases/index.ts'
import type { Core } from './core.ts'

/** Messages that wait for the end of a start; they are part of the record, which is written whole. */
const MAX_PENDING_MESSAGES = 100

/** The conversation as the intake of its messages needs it. */
export type IntakeHost = Pick<Core, 'log' | 'errands' | 'append'> & {
  hooked: Hooked
  /** Begins a run; it waits for the start by itself. */
  startRun: () => void
  /** Takes the conversation through its start. */
  start: () => Promise<void>
}

/** What a command says to the agent, and in whose name. */
export type Said = { content: MessageContent; sender: string | null }

/** Messages on their way in: hooks look at them, and before the end of the start they are kept for later. */
export class Intake {
  readonly #host: IntakeHost
  /** Messages that hooks look at, in the order they came; nothing else waits for them (F65). */
  readonly #looked = new Mailbox()

  constructor(host: IntakeHost) {
    this.#host = host
  }

  /** What hooks have to look at before this command is decided; null for nothing. @throws ParleyError `bad_request`, `conflict`. */
  toLookAt(command: Command): Said | null {
    const { log, hooked } = this.#host
    if (!isReady(log.state) || !hooked.looksAtMessages) return null
    if (command.kind === 'send_message') return { content: command.content, sender: null }
    if (command.kind !== 'start_goal' && command.kind !== 'resume_goal') return null
    return { content: [textContent(goalText(log.state, command))], sender: GOAL_SENDER }
  }

  /** Lets hooks look at what was said, and `go` on with what they made of it; one message at a time. */
  look(said: Said, command: Command, go: (submission: Submission) => Promise<void>): Promise<void> {
    return this.#looked.run(async () => go(identified(await this.#submit(said), command)))
  }

  /** Only in a turn, before the start has ended. @throws ParleyError `conflict` when too many wait already. */
  async keepForLater(command: Extract<Command, { kind: 'send_message' }>): Promise<void> {
    const { log, append, startRun, start } = this.#host
    const { pending_messages: pending } = log.record
    if (pending.length >= MAX_PENDING_MESSAGES) {
      throw new ParleyError(
        'conflict',
        `${MAX_PENDING_MESSAGES} messages wait for the start of this conversation already. Send more when it has started.`,
      )
    }
    log.record = { ...log.record, pending_messages: [...pending, command.content] }
    const isOwed = command.run && log.state.execution_status !== 'running'
    await append(isOwed ? [statusChanged('running')] : [], log.record)
    if (command.run) startRun()
    else start().catch(() => undefined)
  }

  #submit({ content, sender }: Said): Promise<Submission> {
    const { log, errands, hooked } = this.#host
    const { hook_config } = log.state
    const asked = errands.run((signal) => hooked.submit(content, hook_config, signal, sender))
    return asked.catch((error: unknown) => {
      if (!(error instanceof RunCancelled)) throw error
      throw new ParleyError(
        'unavailable',
        'The server let go of the conversation while hooks looked at the message. Send it again.',
      )
    })
  }
}

/** A message keeps the id that it was sent under. */
function identified(submission: Submission, command: Command): Submission {
  if (command.kind !== 'send_message' || command.message_id === undefined) return submission
  return { ...submission, message: { ...submission.message, id: command.message_id } }
}
