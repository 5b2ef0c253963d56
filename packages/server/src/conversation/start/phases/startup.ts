import { isTreeEvent, type ConversationState, type Draft } from '@parley/protocol'
import type { Agent } from '../../../agent/index.ts'
import { abortable } from '../../../lib/index.ts'
import { conversationError, describe, statusChanged } from '../../drafts.ts'
import { submitted, type Beginning, type Submission } from '../../live/hooked.ts'
import type { ConversationRecord, MessageContent } from '../../record/record.ts'
import {
  DEFAULT_DEADLINES,
  PHASES,
  START_TIMEOUT,
  STOPPED,
  type Phase,
  type PhaseName,
  type Starting,
} from './phase.ts'
import { phaseEvent, runPhases } from './run-phases.ts'
import { hasToStartAgain, isReady } from './standing.ts'

/** The conversation as its start needs it. */
export type StartHost = {
  /** Phases before the agent itself, in order. */
  phases: readonly Phase[]
  agentDeadlineMs: number | undefined
  starting(): Starting
  state(): ConversationState
  openAgent(): Promise<Agent>
  /** Tells hooks that the session begins, once all phases are over. */
  beginSession(signal: AbortSignal): Promise<Beginning>
  /** Asks hooks about a message that has waited for the start. */
  submit(content: MessageContent, config: Beginning['config'], signal: AbortSignal): Promise<Submission>
  /** Runs `work` alone among everything that changes the conversation. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  /** Only in a turn: stores the drafts together with a change of the record. */
  append(drafts: readonly Draft[], change: Partial<ConversationRecord>): Promise<void>
  startRun(): void
  /** Whether a person called the start off, rather than the process that it runs in. */
  isCalledOff(reason: unknown): boolean
  /** This copy of the conversation counts no more. */
  isLost(): boolean
  onFailure(phase: string, code: string): void
}

/** The start of one conversation: at most one at a time; who asks while it goes on waits for the same end. */
export class Startup {
  readonly #host: StartHost
  #going: { controller: AbortController; ended: Promise<void> } | null = null

  constructor(host: StartHost) {
    this.#host = host
  }

  get isGoingOn(): boolean {
    return this.#going !== null
  }

  /** Takes the start through its phases. Rejects with the reason that was recorded. */
  run(): Promise<void> {
    if (this.#going !== null) return this.#going.ended
    const controller = new AbortController()
    const ended = this.#start(controller.signal).finally(() => {
      this.#going = null
    })
    this.#going = { controller, ended }
    return ended
  }

  /** Takes a failed or stopped start up again, without waiting for it. What waits to be said is said then. */
  async again(): Promise<void> {
    const host = this.#host
    await host.inTurn(async () => {
      const { start, execution_status } = host.state()
      if (!hasToStartAgain(host.state()) || this.isGoingOn) return
      const isOwed = host.starting().record.pending_messages.length > 0
      const drafts = [phaseEvent(start?.phase === 'ready' ? 'agent' : newest(start), 'started')]
      if (isOwed) drafts.push(statusChanged('running'))
      else if (execution_status === 'error') drafts.push(statusChanged('idle'))
      await host.append(drafts, {})
      if (isOwed) host.startRun()
      else this.run().catch(() => undefined)
    })
  }

  /** Calls it off and waits until nothing of it goes on. */
  async cancel(reason: Error): Promise<void> {
    const going = this.#going
    if (going === null) return
    going.controller.abort(reason)
    await going.ended.catch(() => undefined)
  }

  async #start(signal: AbortSignal): Promise<void> {
    const host = this.#host
    if (isReady(host.state())) return
    const commit = async (drafts: readonly Draft[], change: Partial<ConversationRecord>) => {
      signal.throwIfAborted()
      await host.append(drafts, change)
    }
    try {
      const { drafts, change } = await runPhases(
        [...host.phases, this.#agentPhase()],
        {
          starting: () => host.starting(),
          progress: () => host.state().start,
          commit: (...phase) => host.inTurn(() => commit(...phase)),
        },
        signal,
      )
      // Hooks take their time, outside of a turn: messages that come meanwhile are asked about in another round.
      const begun = await host.beginSession(signal)
      const { record } = host.starting()
      const isSaying = record.pending_messages.length > 0 || begun.drafts.some(isTreeDraft)
      // Outside of a turn too: tools of others are asked for when somebody is going to need them.
      if (isSaying || host.state().execution_status === 'running') await (await host.openAgent()).prepare?.(signal)
      const heard = new Map<MessageContent, Submission>()
      for (let isDone = false; !isDone;) {
        for (const content of host.starting().record.pending_messages)
          if (!heard.has(content)) heard.set(content, await host.submit(content, begun.config, signal))
        isDone = await host.inTurn(async () => {
          const state = host.state()
          const pending = host.starting().record.pending_messages.map((content) => heard.get(content))
          if (pending.includes(undefined)) return false
          const said = [...begun.drafts, ...submitted(state, pending as Submission[])]
          const isOpening = (said.some(isTreeDraft) || state.execution_status === 'running') && !state.has_system_prompt
          const opening = isOpening ? (await host.openAgent()).preamble() : []
          const ready = [...drafts, phaseEvent('ready', 'done', null, begun.detail), ...opening, ...said]
          await commit(ready, { ...change, pending_messages: [] })
          return true
        })
      }
    } catch (error) {
      await this.#record(error, signal)
      throw error
    }
  }

  /** It is this process's own, so every start has it. */
  #agentPhase(): Phase {
    return {
      name: 'agent',
      deadlineMs: this.#host.agentDeadlineMs ?? DEFAULT_DEADLINES.agent,
      timeoutCode: START_TIMEOUT,
      subject: () => 'Opening the agent',
      applies: () => true,
      run: async (_, signal) => {
        await abortable(this.#host.openAgent(), signal)
        return {}
      },
    }
  }

  /** A start that ended because its process ends goes on in the next one; nothing is recorded of that. */
  async #record(error: unknown, signal: AbortSignal): Promise<void> {
    const host = this.#host
    const phase = newest(host.state().start)
    if (signal.aborted) {
      if (!host.isCalledOff(signal.reason)) return
      const reason = 'The start was called off. Start the conversation again to go on.'
      return host.inTurn(() => host.append([phaseEvent(phase, 'failed', STOPPED, reason)], {}))
    }
    if (host.isLost()) return
    const { code, detail } = describe(error)
    host.onFailure(phase, code)
    const failed = phaseEvent(phase, 'failed', code, detail)
    await host.inTurn(() => host.append([failed, conversationError(code, detail), statusChanged('error', code)], {}))
  }
}

const isTreeDraft = (draft: Draft): boolean => isTreeEvent(draft)

const newest = (start: ConversationState['start']): PhaseName =>
  PHASES.find((name) => name === start?.phase) ?? 'workspace'
