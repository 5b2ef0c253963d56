import type { ConversationState, Draft } from '@parley/protocol'
import type { Agent } from '../../agent/index.ts'
import { Mailbox } from '../../lib/index.ts'
import { closeAction, pausing, statusChanged } from '../drafts.ts'
import { withoutBlocks, type Hooked } from './hooked.ts'
import { RunCancelled } from '../run/interruption.ts'
import type { Running } from '../run/running.ts'
import { hasToStartAgain, isReady, phaseEvent, STOPPED, type Startup } from '../start/phases/index.ts'
import type { Core } from './core.ts'

/** How long an interrupt waits for what it cancelled. Source: agent-server-wire.md 10.1. */
const INTERRUPT_WAIT_MS = 5000

/** The conversation as its endings need it. */
export type EndingHost = Pick<
  Core,
  'id' | 'log' | 'deps' | 'mailbox' | 'errands' | 'agent' | 'append' | 'emitSnapshot'
> & {
  running: Running
  startup: Startup
  hooked: Hooked
}

/** How what goes on in one conversation is ended by a person: interrupted, or stopped until it is started again. */
export class Ending {
  readonly #host: EndingHost
  /** One at a time: a second interruption must not store its end before what the first one has to say. */
  readonly #interruptions = new Mailbox()

  constructor(host: EndingHost) {
    this.#host = host
  }

  /** Source: conversation-service.md 1.5, RUNNING to STOPPED. */
  async stop(): Promise<void> {
    const { log, startup } = this.#host
    if (hasToStartAgain(log.state) && !startup.isGoingOn) return
    const hadBegun = isReady(log.state)
    const agent = await this.interrupt(phaseEvent('ready', 'failed', STOPPED, 'The conversation was stopped.'))
    if (hadBegun) await this.endSession(agent?.preamble())
    await agent?.[Symbol.asyncDispose]()
  }

  /**
   * Cancels what goes on and closes what it left open. Without a run it is a pause. Source: agent-core.md 1.16.
   * @param stop recorded with it: the conversation lets go of its agent, which is returned
   */
  interrupt(stop?: Draft): Promise<Agent | null> {
    return this.#interruptions.run(() => this.#interrupt(stop))
  }

  async #interrupt(stop?: Draft): Promise<Agent | null> {
    const { log, mailbox, agent, append, emitSnapshot, running } = this.#host
    // A message, or somebody who looks for what was left running, must not take up what is being cancelled.
    using _held = running.hold()
    const cancelled = await this.#cancel()
    const released = await mailbox.run(async () => {
      const drafts = interruption(log.state, cancelled, stop !== undefined)
      if (stop !== undefined && !hasToStartAgain(log.state)) drafts.push(stop)
      await append(drafts)
      emitSnapshot()
      // In an object: who waits for the turn does not wait for an agent that is being opened.
      return stop === undefined ? null : { agent: agent.leave() }
    })
    return (await released?.agent) ?? null
  }

  /** Tells hooks that the session is over, as far as it began, and records it. A hook that fails ends nothing else. */
  async endSession(preamble: readonly Draft[] = []): Promise<void> {
    const { log, mailbox, errands, hooked, append } = this.#host
    const drafts = await errands.run((signal) => hooked.end(signal))
    if (drafts.length === 0) return
    await mailbox.run(() => append([...(log.state.has_system_prompt ? [] : preamble), ...drafts]))
  }

  /** Cancels run and start. */
  async #cancel(): Promise<Cancelled> {
    const { id, log, deps, running, startup, agent } = this.#host
    const wasRunning = running.isGoingOn
    const { ended } = running
    const mayHaveOthersAtWork = running.isLending || log.state.open_actions.length > 0
    // First in memory alone: from here on nobody is set to work on its behalf.
    running.cancel('interrupted')
    // Then those that work for it, before its own end is recorded: a process that dies in between finds a parent that still
    // waits for them, and never one that is at rest while they go on.
    if (mayHaveOthersAtWork) await deps.kin?.interrupt(id)
    await startup.cancel(new RunCancelled('interrupted'))
    if (!wasRunning) return { wasRunning, left: [] }
    const left = (await (await agent.current())?.interrupt().catch(() => undefined)) ?? []
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, INTERRUPT_WAIT_MS).unref())])
    return { wasRunning, left }
  }
}

/** What was cancelled; `left`: what the agent has to say about calls that it left. */
type Cancelled = { wasRunning: boolean; left: readonly Draft[] }

/** What interrupting does to a conversation in this state. Pure. */
function interruption(state: ConversationState, { wasRunning, left }: Cancelled, isStop: boolean): Draft[] {
  const { execution_status: status, open_actions, awaiting_approval } = state
  // The step of a paused one goes on until its calls have ended. Left open, they would be performed a second time.
  const isInStep = wasRunning && status === 'paused' && awaiting_approval === null && open_actions.length > 0
  if (status === 'running' || isInStep || awaiting_approval?.sub_agent !== undefined) {
    const open = open_actions.map(({ id }) => id)
    return [
      ...left,
      ...open_actions.map((action) => closeAction(action, 'Tool call interrupted before completion.')),
      ...withoutBlocks(state, open),
      statusChanged('paused', 'interrupted'),
      { kind: 'InterruptEvent', source: 'user' },
    ]
  }
  return status === 'idle' && !isStop ? pausing() : []
}
