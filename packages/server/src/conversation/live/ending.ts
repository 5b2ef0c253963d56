import { AGENT_ERROR, type ConversationState, type Draft } from '@parley/protocol'
import type { Agent } from '../../agent/index.ts'
import { abortable, Mailbox } from '../../lib/index.ts'
import { closeAction, pausing, statusChanged } from '../drafts.ts'
import type { ConversationHooks } from '../hooks/conversation-hooks.ts'
import { RunCancelled } from '../interruption.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import { hasToStartAgain, isReady, STOPPED } from '../record/start-status.ts'
import type { ParentLink } from '../run/parent-link.ts'
import type { Running } from '../run/running.ts'
import { phaseEvent, type Startup } from '../start/phases/index.ts'
import { withoutBlocks } from '../submission.ts'
import type { LazyAgent } from './lazy-agent.ts'

/**
 * Longest wait for everything that is cancelled, in milliseconds. Storing the end follows, and the answer must come within five
 * seconds. Source: agent-server-wire.md 10.1.
 */
const INTERRUPT_WAIT_MS = 4_000

type Live = Pick<LiveReader, 'id' | 'state'> &
  Pick<LiveActions, 'inTurn' | 'untilStored' | 'append' | 'inBackground' | 'emitSnapshot'>

/** The parts of a conversation that an interruption ends. */
export type EndingParts = { agent: LazyAgent; hooks: ConversationHooks; running: Running; startup: Startup }

/** How a person ends the work of one conversation: interrupts it, or stops it until it is started again. */
export class Ending {
  readonly #live: Live
  readonly #parts: EndingParts
  readonly #parentLink: ParentLink
  /** One at a time: a second interruption must not store its end before the drafts of the first. */
  readonly #interruptions = new Mailbox()
  /** The end of the agent that the last stop released. */
  #released: Promise<void> = Promise.resolve()
  /** An interruption that is not stored yet. It holds runs back: none may continue what was cancelled. */
  #owed: (Cancelled & { hold: Disposable }) | null = null

  constructor(live: Live, parts: EndingParts, parentLink: ParentLink) {
    this.#live = live
    this.#parts = parts
    this.#parentLink = parentLink
  }

  /** Source: conversation-service.md 1.5. */
  async stop(): Promise<void> {
    const { state, inBackground } = this.#live
    if (hasToStartAgain(state()) && !this.#parts.startup.isActive) return
    const late = AbortSignal.timeout(INTERRUPT_WAIT_MS)
    const wasReady = isReady(state())
    const agent = await this.interrupt(phaseEvent('ready', 'failed', STOPPED, 'The conversation was stopped.'))
    if (wasReady) await this.endSession(agent?.preamble(state()))
    if (agent === null) return
    this.#released = inBackground(async () => agent[Symbol.asyncDispose]()).catch(() => undefined)
    await abortable(this.#released, late).catch(() => undefined)
  }

  /** Resolves when the agent that the last stop released has ended, so that it cannot end what the next start opens. */
  async released(): Promise<void> {
    await this.#released
  }

  /**
   * Cancels run and start, and closes the calls that they left open. Without a run it is a pause. Source: agent-core.md 1.16.
   * @param stop recorded with it; the conversation then releases its agent, which is returned
   */
  interrupt(stop?: Draft): Promise<Agent | null> {
    return this.#interruptions.run(() => this.#interrupt(stop))
  }

  async #interrupt(stop?: Draft): Promise<Agent | null> {
    const { inTurn, untilStored, inBackground } = this.#live
    // A message must not start a run that takes up what is being cancelled.
    using _hold = this.#parts.running.hold()
    const { wasRunning, left } = await this.#cancel()
    const isRepeated = this.#owed !== null
    this.#owed = {
      wasRunning: wasRunning || this.#owed?.wasRunning === true,
      left: [...(this.#owed?.left ?? []), ...left],
      hold: this.#owed?.hold ?? this.#parts.running.hold(),
    }
    try {
      const released = await inTurn(() => this.#record(stop))
      return (await released?.agent) ?? null
    } catch (error) {
      // The run has ended, so its end is recorded as soon as the store accepts it; the caller learns that it is not durable yet.
      if (!isRepeated)
        inBackground((signal) => untilStored(() => this.#record(), signal, { isForced: true })).catch(() => undefined)
      throw error
    }
  }

  /** Stores an interruption that the store has refused, so that what follows is stored after it. @throws the error of the store */
  async recordOwed(): Promise<void> {
    if (this.#owed !== null || this.#parts.startup.isOwed) await this.#live.inTurn(() => this.#record())
  }

  /** Only in a turn: stores the interruption that is owed, after the start that it has cancelled. Returns the agent that a stop releases. */
  async #record(stop?: Draft): Promise<{ agent: Promise<Agent | null> } | null> {
    const { state, append, emitSnapshot } = this.#live
    await this.#parts.startup.recordOwed()
    if (this.#owed === null) return null
    const drafts = interruption(state(), this.#owed, stop !== undefined)
    if (stop !== undefined && !hasToStartAgain(state())) drafts.push(stop)
    await append(drafts)
    this.#owed.hold[Symbol.dispose]()
    this.#owed = null
    emitSnapshot()
    // In an object, so that the turn does not wait for an agent that is being opened.
    return stop === undefined ? null : { agent: this.#parts.agent.release() }
  }

  /** Runs the hooks at the end of the session, if it began, and records their results. A failed hook ends nothing else. */
  async endSession(preamble: readonly Draft[] = []): Promise<void> {
    const { state, inTurn, inBackground, append } = this.#live
    const drafts = await inBackground((signal) => this.#parts.hooks.end(signal))
    if (drafts.length === 0) return
    await inTurn(() => append([...(state().has_system_prompt ? [] : preamble), ...drafts]))
  }

  /** Cancels run and start. Whatever does not end in time is left to end by itself. */
  async #cancel(): Promise<Cancelled> {
    const { id, state } = this.#live
    const { running, startup, agent } = this.#parts
    const wasRunning = running.isActive
    const { ended } = running
    const late = AbortSignal.timeout(INTERRUPT_WAIT_MS)
    const inTime = <T>(work: Promise<T>) => abortable(work, late).catch(() => undefined)
    const mayHaveSubAgents = running.isWaiting || state().open_actions.length > 0
    // First in memory: from here on no sub-agent gets new work.
    running.cancel('interrupted')
    // Sub-agents are interrupted before the end is recorded. A process that dies in between leaves a parent that still waits
    // for its sub-agents, never a parent at rest with sub-agents at work.
    if (mayHaveSubAgents) await inTime(this.#parentLink.interrupt(id))
    await inTime(startup.cancel(new RunCancelled('interrupted')))
    if (!wasRunning) return { wasRunning, left: [] }
    const left = (await inTime(agent.current().then((current) => current?.interrupt()))) ?? []
    await inTime(ended)
    return { wasRunning, left }
  }
}

/** The result of cancelling. `left`: the agent's drafts about calls that it abandoned. */
type Cancelled = { wasRunning: boolean; left: readonly Draft[] }

/** Clients look for the second sentence. Source: docs/clients.md, Details that clients depend on. */
const INTERRUPTED = 'Tool call interrupted before completion. The conversation was paused.'

/** The drafts of an interruption in this state. Pure. */
function interruption(state: ConversationState, { wasRunning, left }: Cancelled, isStop: boolean): Draft[] {
  const { execution_status: status, open_actions, awaiting_approval } = state
  // The step of a paused run continues until its calls have ended. A call left open would be executed a second time.
  const isInStep = wasRunning && status === 'paused' && awaiting_approval === null && open_actions.length > 0
  if (status === 'running' || isInStep || awaiting_approval?.sub_agent !== undefined) {
    const open = open_actions.map(({ id }) => id)
    return [
      ...left,
      ...open_actions.map((action) => closeAction(action, INTERRUPTED, AGENT_ERROR)),
      ...withoutBlocks(state, open),
      statusChanged('paused', 'interrupted'),
      { kind: 'InterruptEvent', source: 'user' },
    ]
  }
  return status === 'idle' && !isStop ? pausing() : []
}
