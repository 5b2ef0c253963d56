/**
 * One conversation in memory: its mailbox, its state, its run.
 *
 * Invariants
 *   L1. Everything that changes it passes through the mailbox, one at a time, in the order of arrival.
 *   L2. An event that `append` has returned is durable. Watchers receive nothing before.
 *   L3. Only the holder of the newest epoch appends; the store enforces it. A holder that loses the epoch stops, commits
 *       nothing more, and leaves memory.
 *   L4. Calls that were open when it was loaded are recovered or closed by the agent, never executed again.
 */
import type { ConversationId, ConversationState, Draft, EventId, StoredEvent } from '@parley/protocol'
import { Mailbox, valueBytes } from '../../lib/index.ts'
import { CompletionLog } from '../completions/completion-log.ts'
import { FileCheckpoints, type FilesAt, type Missing } from '../checkpoints/file-checkpoints.ts'
import type { Actor, Command } from '../conversations.ts'
import { GoalRounds } from '../goal/rounds.ts'
import { ConversationHooks } from '../hooks/conversation-hooks.ts'
import { RunCancelled, type Interruption } from '../interruption.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import { withKnowledge } from '../log/knowledge.ts'
import { LiveLog, type Loaded } from '../log/live-log.ts'
import { snapshotOf } from '../record/info.ts'
import type { ConversationRecord } from '../record/record.ts'
import { hasToStartAgain, isReady } from '../record/start-status.ts'
import { CondensationRequest } from '../run/condensation-request.ts'
import { Running } from '../run/running.ts'
import { Startup } from '../start/phases/index.ts'
import { TitleTask } from '../titles/title-task.ts'
import type { Channel } from '../watch/channel.ts'
import { LiveOutputs } from '../watch/live-output.ts'
import { Reminder } from '../watch/reminder.ts'
import { afterCommit } from './after-commit.ts'
import { answerAside } from './asides.ts'
import { BackgroundTasks } from './background-tasks.ts'
import { Changes } from './changes.ts'
import { commandHandlers, type CommandHandler, type CommandHandlers } from './command-handlers.ts'
import type { LiveDeps } from './deps.ts'
import { Ending } from './ending.ts'
import { LazyAgent } from './lazy-agent.ts'
import { MessageIntake } from './message-intake.ts'
import { SentMessages } from './sent-messages.ts'

/** Bytes of the parts of one conversation, and of an agent with its tools, as heap snapshots show them. */
const PARTS_BYTES = 8 * 1024
const AGENT_BYTES = 24 * 1024

/** Commands that end work in memory even while the store refuses to record that. */
const ENDS_WORK: ReadonlySet<Command['kind']> = new Set(['interrupt', 'stop'])

export class LiveConversation {
  readonly id: ConversationId
  readonly owner: string
  /** Under which this copy appends. */
  readonly epoch: number
  readonly channel: Channel
  readonly #deps: LiveDeps
  readonly #live: LiveReader & LiveActions
  readonly #mailbox = new Mailbox()
  readonly #tasks = new BackgroundTasks()
  readonly #reminder = new Reminder(() => this.#emitSnapshot())
  readonly #log: LiveLog
  readonly #agent: LazyAgent
  readonly #files: FileCheckpoints
  readonly #hooks: ConversationHooks
  readonly #running: Running
  readonly #startup: Startup
  readonly #intake: MessageIntake
  readonly #sent: SentMessages
  readonly #changes: Changes
  readonly #completions: CompletionLog
  readonly #ending: Ending
  readonly #handlers: CommandHandlers
  /** Number of commands in progress: before its turn in the mailbox, one may wait for hooks, or for the agent to open. */
  #commands = 0
  #isClosed = false

  /** @param onLost called once when this copy no longer equals the stored log, and has to leave memory */
  constructor(loaded: Loaded, channel: Channel, deps: LiveDeps, onLost: (hasNewOwner: boolean) => void) {
    this.id = loaded.id
    this.owner = loaded.owner
    this.epoch = loaded.epoch
    this.channel = channel
    this.#deps = deps
    this.#log = new LiveLog(loaded, channel, deps, {
      onLost: (hasNewOwner) => {
        if (!this.#isClosed) onLost(hasNewOwner)
      },
      onCommit: (commit) => afterCommit(commit, live, { goal, running, titles }, deps),
    })
    const live = this.#access(loaded)
    const hooks = new ConversationHooks(live, deps.openHooks)
    const goal = new GoalRounds(live, hooks, deps)
    const titles = new TitleTask(live, deps)
    const condensation = new CondensationRequest()
    const reminder = this.#reminder
    const files = new FileCheckpoints(live, deps)
    const running = new Running(live, { log: this.#log, channel, files, goal, hooks, condensation, reminder }, deps)
    const startup = new Startup(live, hooks, deps)
    const agent = new LazyAgent(live, deps.openAgent)
    const intake = new MessageIntake(live, hooks)
    const changes = new Changes(live, deps)
    const ending = new Ending(live, { agent, hooks, running, startup }, deps.parentLink)
    this.#live = live
    this.#completions = new CompletionLog(live, channel, deps)
    this.#agent = agent
    this.#files = files
    this.#hooks = hooks
    this.#running = running
    this.#startup = startup
    this.#intake = intake
    this.#sent = new SentMessages(live, deps)
    this.#changes = changes
    this.#ending = ending
    const parts = { startup, running, ending, changes, files, intake, condensation, reminder }
    this.#handlers = commandHandlers(live, parts, deps)
  }

  /** The conversation as its parts see it. */
  #access({ id, owner, epoch }: Loaded): LiveReader & LiveActions {
    const masker = () => this.#deps.masker(owner, this.record)
    return {
      id,
      owner,
      epoch,
      liveOutput: new LiveOutputs(this.channel, masker),
      state: () => this.#log.state,
      record: () => this.#log.record,
      masker,
      hasBudget: () => this.#deps.parentLink.hasBudget(this.record),
      note: (drafts) => this.#note(drafts),
      logCompletion: (completion) => this.#completions.take(completion),
      isClosed: () => this.#isClosed,
      inTurn: (work) => this.#mailbox.run(work),
      untilStored: (...repeated) => this.#untilStored(...repeated),
      expectAccepting: () => this.#expectAccepting(),
      append: (...written) => this.#append(...written),
      inBackground: (work, signal) => this.#tasks.run(work, signal),
      openAgent: () => this.#agent.open(),
      currentAgent: () => this.#agent.current(),
      start: () => this.#startup.run(),
      startRun: () => this.#running.start(),
      emitSnapshot: () => this.#emitSnapshot(),
    }
  }

  #note(drafts: readonly Draft[]): void {
    const noted = this.#tasks.run((signal) => this.#untilStored(() => this.#append(drafts), signal))
    noted.catch((err: unknown) => {
      if (!this.#isClosed) this.#deps.log.warn({ conversation_id: this.id, err }, 'note of a conversation not stored')
    })
  }

  get record(): ConversationRecord {
    return this.#log.record
  }

  state(): ConversationState {
    return this.#log.state
  }

  /** True when this copy has left memory, or is leaving it. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** True when nothing is active here that a later load could not restore. */
  get isIdle(): boolean {
    const isWorking = this.#running.isActive || this.#startup.isActive || this.#commands > 0
    // A person may be asked about a part of work that an agent holds open.
    const isHeld = this.#log.state.awaiting_approval !== null && this.#agent.isHolding
    return !isWorking && !isHeld && this.#mailbox.isEmpty && this.#tasks.isEmpty
  }

  /** Approximate sizes in memory: what the model sees, and record and state with the parts of the conversation and its agent. */
  get bytes(): { view: number; rest: number } {
    const parts = this.#agent.isOpen ? PARTS_BYTES + AGENT_BYTES : PARTS_BYTES
    return { view: this.#log.view?.bytes ?? 0, rest: parts + valueBytes(this.record) + valueBytes(this.#log.state) }
  }

  /** Drops what the next run reads again, unless something has become active. */
  async dropView(): Promise<void> {
    if (!this.isIdle) return
    await this.#mailbox.run(async () => {
      if (this.#running.isActive) return
      this.#log.closeView()
      // A run that begins meanwhile waits for this turn before it asks its agent.
      ;(await this.#agent.current())?.forgetViews?.()
    })
  }

  /** Applies a command; resolves when its effect is durable. */
  async send(command: Command, actor: Actor): Promise<void> {
    this.#commands++
    try {
      this.#deps.onActivity()
      this.#reminder.cancel()
      // Before hooks or an agent act on the command: what the store refuses must not have an effect.
      if (!ENDS_WORK.has(command.kind)) await this.#expectOrder()
      const { prepare, message, apply } = this.#handlers[command.kind] as CommandHandler<Command>
      if (message === undefined) {
        await prepare?.(command)
        return void (await apply(command, actor))
      }
      const send = async () => {
        await prepare?.(command)
        await this.#intake.inspected(
          () => message(command),
          async (submission) => void (await apply(command, actor, submission)),
        )
      }
      await (command.kind === 'send_message' ? this.#sent.once(command, send) : send())
    } finally {
      this.#commands--
    }
  }

  /**
   * Appends the drafts that `make` returns for the state of its turn; true when there were any.
   * @param signal with it, an append that the store refuses is repeated until the signal aborts
   */
  commit(make: (state: ConversationState) => readonly Draft[], signal?: AbortSignal): Promise<boolean> {
    const work = async () => {
      const drafts = make(this.#log.state)
      await this.#append(drafts)
      return drafts.length > 0
    }
    return signal === undefined ? this.#mailbox.run(work) : this.#untilStored(work, signal)
  }

  /** Runs `work`, which waits for other conversations, without occupying a run slot. */
  withoutSlot<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#running.withoutSlot(work, signal)
  }

  /** Returns the agent's answer to a question beside the conversation. @throws ParleyError with the reason when there is none */
  ask(question: string, signal: AbortSignal): Promise<string> {
    this.#deps.onActivity()
    const parts = { log: this.#log, running: this.#running, startup: this.#startup }
    return answerAside(question, this.#live, parts, signal)
  }

  /**
   * Runs `work`, which copies the files of the event `seq`; null: as they are now.
   * @returns its result, or why there is no checkpoint of them
   */
  copyFiles<T>(
    seq: number | null,
    work: (files: FilesAt, signal: AbortSignal) => Promise<T>,
  ): Promise<{ result: T } | Missing> {
    return this.#files.copy(seq, work)
  }

  /** Resolves when the completions so far are logged. */
  completionsLogged(): Promise<void> {
    return this.#completions.settled()
  }

  /** Changes the record; the drafts show the change to watchers. */
  async update(change: Partial<ConversationRecord>, drafts: readonly Draft[]): Promise<void> {
    this.#deps.onActivity()
    await this.#changes.update(change, drafts)
  }

  /** Continues the run, or the start, that was active when the previous process ended. */
  resume(): void {
    if (this.#deps.isSuspended(this.owner)) return
    const { execution_status: status, awaiting_approval: awaiting } = this.#log.state
    if (status === 'running') this.#files.takeOver()
    // A conversation that asks for its sub-agent continues to wait for that one, and for the others.
    if (status === 'running' || awaiting?.sub_agent !== undefined) this.#running.start()
    else if (!isReady(this.#log.state) && !hasToStartAgain(this.#log.state)) this.start().catch(() => undefined)
  }

  /**
   * Takes the start through its phases, each recorded; may be called again, also after a failed start.
   * Rejects with the reason that was recorded.
   */
  start(): Promise<void> {
    return this.#startup.run()
  }

  /** Runs the hooks at the end of the session, if it began, and records their results. A failed hook ends nothing else. */
  endSession(): Promise<void> {
    return this.#ending.endSession()
  }

  /** Ends the run between two steps, and begins no other; the conversation then leaves memory, and another node continues it. */
  drain(): Promise<void> {
    return this.#running.drain()
  }

  /** Cancels run and start without recording anything, and disposes the agent. May be called twice. */
  async close(why: Interruption): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#reminder.cancel()
    this.#running.cancel(why)
    await this.#startup.cancel(new RunCancelled(why))
    await this.#running.ended
    await this.#tasks.close(new RunCancelled(why))
    if (why === 'draining' || why === 'interrupted') await this.#mailbox.run(() => this.#log.cache())
    await this.#hooks.close()
    await (await this.#agent.current())?.[Symbol.asyncDispose]()
  }

  snapshot() {
    return snapshotOf(this.id, this.#log.record, this.#log.state)
  }

  /** Only in a turn. */
  async #append(drafts: readonly Draft[], record?: ConversationRecord, isEdited = false): Promise<StoredEvent[]> {
    if (this.#isClosed && !this.#running.isActive && (drafts.length > 0 || record !== undefined))
      throw new RunCancelled('lost')
    const action = (id: EventId) => this.#log.actions([id])[0]
    const known = withKnowledge(drafts, { state: this.#log.state, record: record ?? this.record, action })
    return this.#log.append(known, record, isEdited)
  }

  async #untilStored<T>(work: () => Promise<T>, signal: AbortSignal, { isForced } = { isForced: false }): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#mailbox.run(work)
      } catch (err) {
        if (signal.aborted || err instanceof RunCancelled || !(isForced || this.#log.isRefusal(err))) throw err
        this.#deps.log.warn({ conversation_id: this.id, attempt, err }, 'append refused by the store, to be repeated')
      }
      // Outside of the turn: requests are answered meanwhile, and may be the first that the store accepts.
      await this.#deps.appendRetry.wait(signal)
    }
  }

  /** Checks that a command can be stored, after an interruption that is not stored yet. @throws the error of the store */
  async #expectOrder(): Promise<void> {
    await this.#ending.recordOwed()
    await this.#expectAccepting()
  }

  async #expectAccepting(): Promise<void> {
    if (this.#log.isRefused) await this.#mailbox.run(() => this.#log.expectAccepting())
  }

  #emitSnapshot(): void {
    if (this.channel.watchers > 0) this.channel.emit(this.snapshot())
  }
}
