/**
 * One conversation in memory: its mailbox, its fold, its run.
 *
 * Invariants
 *   L1. Everything that changes it goes through the mailbox, one at a time, in the order it came.
 *   L2. What `commit` returned is durable. Nothing is told to watchers before.
 *   L3. Only the holder of the newest epoch appends; the store enforces it. Who loses it stops and commits nothing more.
 *   L4. Calls that were open when it was loaded are adopted or closed by the agent, never performed afresh.
 */
import type { ConversationId, ConversationState, Draft, EventId, StoredEvent } from '@parley/protocol'
import { ParleyError } from '@parley/protocol'
import { Mailbox } from '../../lib/index.ts'
import { makeMasker } from '../../secrets/index.ts'
import type { Channel } from '../watch/channel.ts'
import { decide, opensBranch } from '../commands.ts'
import { CondensationWish } from '../run/condensation-wish.ts'
import type { Actor, Command } from '../conversations.ts'
import { Errands } from './errands.ts'
import { GoalRounds } from '../goal/rounds.ts'
import { Hooked, type Submission } from './hooked.ts'
import { fullState } from '../record/info.ts'
import { RunCancelled, type Interruption } from '../run/interruption.ts'
import { withKnowledge } from '../log/knowledge.ts'
import { LiveLog, type Loaded } from '../log/live-log.ts'
import type { ConversationRecord } from '../record/record.ts'
import { Reminder } from '../watch/reminder.ts'
import { Running } from '../run/running.ts'
import { hasToStartAgain, isReady, Startup } from '../start/phases/index.ts'
import { Titling } from '../titles/titling.ts'
import { afterCommit } from './after-commit.ts'
import { AgentSeat } from './agent-seat.ts'
import { answerAside } from './asides.ts'
import { Changes } from './changes.ts'
import type { Core } from './core.ts'
import type { LiveDeps } from './deps.ts'
import { Ending } from './ending.ts'
import { goalHost, hookedHost, startHost, titlingHost } from './hosts.ts'
import { Intake } from './intake.ts'
import { expectStill, targetOf } from './navigating.ts'

/** How long the first message of an idle conversation waits for tools that others offer; what comes later joins later. */
const PREPARE_MS = 10_000

export class LiveConversation {
  readonly id: ConversationId
  readonly channel: Channel
  readonly #deps: LiveDeps
  readonly #core: Core
  readonly #mailbox = new Mailbox()
  readonly #errands = new Errands()
  readonly #wish = new CondensationWish()
  readonly #reminder = new Reminder(() => this.#emitSnapshot())
  readonly #log: LiveLog
  readonly #agent: AgentSeat
  readonly #hooked: Hooked
  readonly #running: Running
  readonly #startup: Startup
  readonly #intake: Intake
  readonly #changes: Changes
  readonly #ending: Ending
  /** Commands that are being applied: before its turn in the mailbox, one may wait for hooks, or for the agent to open. */
  #commands = 0
  #isClosed = false

  constructor(loaded: Loaded, channel: Channel, deps: LiveDeps) {
    const { id, owner, epoch } = loaded
    this.id = id
    this.channel = channel
    this.#deps = deps
    this.#log = new LiveLog(loaded, channel, deps, {
      onLost: () => this.#lose(),
      onCommit: (events, record, ended) =>
        afterCommit({ events, record, ended }, core, { goal, running: this.#running, titling }),
    })
    this.#agent = new AgentSeat({ id, owner, epoch, log: this.#log, deps })
    const core: Core = {
      id,
      owner,
      epoch,
      deps,
      channel,
      log: this.#log,
      mailbox: this.#mailbox,
      errands: this.#errands,
      agent: this.#agent,
      wish: this.#wish,
      reminder: this.#reminder,
      masker: async () => deps.masker?.(owner, this.record) ?? makeMasker([]),
      append: (...written) => this.#append(...written),
      emitSnapshot: () => this.#emitSnapshot(),
      isClosed: () => this.#isClosed,
    }
    this.#core = core
    const titling = new Titling(titlingHost(core), deps)
    const hooked = new Hooked(hookedHost(core))
    const goal = new GoalRounds(goalHost(core, hooked))
    const start = () => this.start()
    const running = new Running({ ...core, goal, hooked, openAgent: () => this.#agent.open(), started: start }, deps)
    const startup = new Startup(startHost(core, hooked, running))
    this.#hooked = hooked
    this.#running = running
    this.#startup = startup
    this.#intake = new Intake({ ...core, hooked, startRun: () => running.start(), start })
    this.#changes = new Changes(core)
    this.#ending = new Ending({ ...core, running, startup, hooked })
  }

  get record(): ConversationRecord {
    return this.#log.record
  }

  state(): ConversationState {
    return this.#log.state
  }

  /** Nothing goes on here that a reader could not load again. */
  get isIdle(): boolean {
    const isWorking = this.#running.isGoingOn || this.#startup.isGoingOn || this.#commands > 0
    // What a person is asked about may be a part of work that goes on elsewhere.
    const isHeld = this.#log.state.awaiting_approval !== null && this.#agent.isHolding
    return !isWorking && !isHeld && this.#mailbox.isEmpty && this.#errands.isEmpty
  }

  /**
   * Applies a command; resolves when what it says is durable.
   * @param submission what hooks made of a message; absent: they are asked first, if there are any
   */
  async send(command: Command, actor: Actor, submission?: Submission): Promise<void> {
    this.#commands++
    try {
      await this.#apply(command, actor, submission)
    } finally {
      this.#commands--
    }
  }

  async #apply(command: Command, actor: Actor, submission?: Submission): Promise<void> {
    this.#deps.onActivity()
    this.#reminder.cancel()
    if (command.kind === 'interrupt') return void (await this.#ending.interrupt())
    if (command.kind === 'start') return this.#startup.again()
    if (command.kind === 'stop') return this.#ending.stop()
    if (command.kind === 'condense') return this.#condense()
    if (command.kind === 'switch_llm') return this.#changes.switchLlm(command.llm)
    if (command.kind === 'switch_acp_model') return this.#changes.switchAcpModel(command.model)
    if (command.kind === 'set_secrets') return this.#changes.setSecrets(command.secrets)
    if (command.kind === 'client_result') return this.#changes.takeResult(command)
    if (command.kind === 'start_goal' || command.kind === 'resume_goal') {
      await this.#started()
      await this.#deps.judgeModel?.(this.#core.owner, this.record.agent)
    }
    if (command.kind === 'navigate') await expectStill(this.#core, this.#running)
    const said = submission === undefined ? this.#intake.toLookAt(command) : null
    if (said !== null) return this.#intake.look(said, command, (looked) => this.send(command, actor, looked))
    const isOpening = () => isReady(this.#log.state) && opensBranch(command, this.#log.state)
    // Before the start has ended nobody knows where the agent will work; the start itself opens it then.
    if (isOpening()) await (await this.#agent.open()).prepare?.(AbortSignal.timeout(PREPARE_MS))
    await this.#mailbox.run(async () => {
      if (command.kind === 'send_message' && !isReady(this.#log.state)) return this.#intake.keepForLater(command)
      const decidable = command.kind === 'navigate' ? await targetOf(command.event_id, this.#core) : command
      const preamble = isOpening() ? (await this.#agent.open()).preamble() : []
      const { drafts, runs, snapshot } = decide(this.#log.state, decidable, actor.keyId, preamble, submission)
      await this.#append(drafts)
      if (runs && command.kind === 'send_message' && this.#running.isGoingOn) (await this.#agent.current())?.heard?.()
      if (runs) this.#running.start()
      if (snapshot) this.#emitSnapshot()
      if (command.kind === 'run' && !runs) this.#reminder.ended(performance.now())
    })
  }

  /** Appends what `make` finds to be said about the state as it is when its turn comes; true when that was anything. */
  commit(make: (state: ConversationState) => readonly Draft[]): Promise<boolean> {
    return this.#mailbox.run(async () => {
      const drafts = make(this.#log.state)
      await this.#append(drafts)
      return drafts.length > 0
    })
  }

  /** Does `work`, which waits for other conversations, without holding a place among the runs. */
  lend<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#running.lend(work, signal)
  }

  /** The agent's answer to a question beside the conversation. @throws ParleyError saying why there is none. */
  ask(question: string, signal: AbortSignal): Promise<string> {
    this.#deps.onActivity()
    return answerAside(question, this.#core, this.#running, { started: () => this.#started(), signal })
  }

  /** Changes what does not come from events; `drafts` tell watchers about it. */
  async update(change: Partial<ConversationRecord>, drafts: readonly Draft[]): Promise<void> {
    this.#deps.onActivity()
    await this.#changes.update(change, drafts)
  }

  /** Goes on with what was running when the process before this one ended, or with a start that never ended. */
  resume(): void {
    const { execution_status: status, awaiting_approval: awaiting } = this.#log.state
    // One for whose sub-agent a person is asked goes on attending to it, and to the others.
    if (status === 'running' || awaiting?.sub_agent !== undefined) this.#running.start()
    else if (!isReady(this.#log.state) && !hasToStartAgain(this.#log.state)) this.start().catch(() => undefined)
  }

  /**
   * Takes the start through its phases, each recorded; safe to call again, also after a failed one.
   * Rejects with the reason that was recorded.
   */
  start(): Promise<void> {
    return this.#startup.run()
  }

  /** Tells hooks that the session is over, as far as it began, and records it. A hook that fails ends nothing else. */
  endSession(): Promise<void> {
    return this.#ending.endSession()
  }

  /** Stops what goes on, without recording anything, and lets go of the agent. Safe to call twice. */
  async close(why: Interruption): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#reminder.cancel()
    this.#running.cancel(why)
    await this.#startup.cancel(new RunCancelled(why))
    await this.#running.ended
    await this.#errands.close(new RunCancelled(why))
    if (why === 'draining' || why === 'interrupted') await this.#mailbox.run(() => this.#log.cache())
    await this.#hooked.close()
    await (await this.#agent.current())?.[Symbol.asyncDispose]()
  }

  snapshot(): { kind: 'snapshot'; seq: number; value: Record<string, unknown> } {
    return { kind: 'snapshot', seq: this.#log.state.seq, value: fullState(this.id, this.#log.record, this.#log.state) }
  }

  /** Waits for the end of a start that goes on. @throws ParleyError `conflict`; whatever a start fails with. */
  async #started(): Promise<void> {
    this.#expectStarted()
    if (!isReady(this.#log.state)) await this.start()
  }

  #expectStarted(): void {
    if (hasToStartAgain(this.#log.state))
      throw new ParleyError('conflict', 'The conversation is stopped. Start it again first.')
  }

  /**
   * Served by the loop, so that it happens between two steps; without a run the loop starts for this alone, and changes no
   * status.
   */
  async #condense(): Promise<void> {
    this.#expectStarted()
    if (this.#isClosed) throw new RunCancelled('lost')
    const condensed = this.#wish.open(this.#log.record)
    this.#running.start()
    return condensed
  }

  /** Only inside the mailbox. */
  async #append(drafts: readonly Draft[], record?: ConversationRecord, isEdited = false): Promise<StoredEvent[]> {
    if (this.#isClosed && !this.#running.isGoingOn && (drafts.length > 0 || record !== undefined))
      throw new RunCancelled('lost')
    const action = (id: EventId) => this.#log.actions([id])[0]
    const known = withKnowledge(drafts, { state: this.#log.state, record: record ?? this.record, action })
    return this.#log.append(known, record, isEdited)
  }

  /** Another owner has taken over: nothing of this copy counts any more (L3). */
  #lose(): void {
    this.#isClosed = true
    this.#running.cancel('lost')
    // What an agent still does by itself ends with it.
    this.#agent
      .current()
      .then((agent) => agent?.[Symbol.asyncDispose]())
      .catch(() => undefined)
    this.#deps.log.warn({ conversation_id: this.id }, 'another owner took this conversation over')
  }

  #emitSnapshot(): void {
    if (this.channel.watchers > 0) this.channel.emit(this.snapshot())
  }
}
