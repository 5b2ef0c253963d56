/**
 * One conversation in memory: its mailbox, its fold, its run.
 *
 * Invariants
 *   L1. Everything that changes it goes through the mailbox, one at a time, in the order it came.
 *   L2. What `commit` returned is durable. Nothing is told to watchers before.
 *   L3. Only the holder of the newest epoch appends; the store enforces it. Who loses it stops and commits nothing more.
 *   L4. Calls that were open when it was loaded are adopted or closed by the agent, never performed afresh.
 */
import type { ConversationId, ConversationState, Draft, EventId, LLM, StoredEvent } from '@parley/protocol'
import { ParleyError, textContent } from '@parley/protocol'
import type { Agent } from '../agent/index.ts'
import { abortable, Mailbox } from '../lib/index.ts'
import { makeMasker, type Masker } from '../secrets/index.ts'
import type { ClientCalls } from '../tools/index.ts'
import { expectText, refusalOf } from './ask.ts'
import { navigationTarget, readBranch } from './branch-reader.ts'
import type { Channel } from './channel.ts'
import { expectAwaited, type ClientCallBoard } from './client-calls.ts'
import { decide } from './commands.ts'
import { CondensationWish } from './condensation-wish.ts'
import type { Actor, Command } from './conversations.ts'
import { closeAction, statusChanged } from './drafts.ts'
import { Errands } from './errands.ts'
import { GOAL_SENDER, goalText } from './goal.ts'
import { GoalRounds, type GoalHost } from './goal-rounds.ts'
import { Hooked, withoutBlocks, type OpenHooks, type Submission } from './hooked.ts'
import { fullState } from './info.ts'
import { isInterruption, RunCancelled, type Interruption } from './interruption.ts'
import { givenOn, withKnowledge } from './knowledge.ts'
import { LiveLog, type Loaded, type LogDeps } from './live-log.ts'
import type { ConversationRecord, MessageContent, SecretSources } from './record.ts'
import { withAcpModel, withModel, withSecrets } from './record-changes.ts'
import { Reminder } from './reminder.ts'
import { Running, type RunDeps } from './running.ts'
import {
  hasToStartAgain,
  isReady,
  phaseEvent,
  STOPPED,
  Startup,
  type Phase,
  type StartHost,
} from './start-phases/index.ts'
import type { TitleDeps } from './title.ts'
import type { OwnSubAgents } from './sub-agents/index.ts'
import { Titling, type TitlingHost } from './titling.ts'

/** How long an interrupt waits for what it cancelled. Source: agent-server-wire.md 10.1. */
const INTERRUPT_WAIT_MS = 5000
/** How long navigating waits for the end of a step that a pause lets finish. */
const STEP_WAIT_MS = 5000
/** How long the first message of an idle conversation waits for tools that others offer; what comes later joins later. */
const PREPARE_MS = 10_000
/** Messages that wait for the end of a start; they are part of the record, which is written whole. */
const MAX_PENDING_MESSAGES = 100

export type LiveDeps = Pick<TitleDeps, 'openLlm' | 'findLlm'> &
  LogDeps &
  RunDeps & {
    openAgent: (
      live: {
        id: ConversationId
        owner: string
        record: ConversationRecord
        epoch: number
        /** The conversation's secrets as they are now. */
        secrets: () => SecretSources
        /** The record as it is now. */
        current: () => ConversationRecord
        /** What its tools may ask of sub-agents. */
        subAgents?: OwnSubAgents
        /** What its client's tools wait with. */
        clientCalls?: ClientCalls
      },
      signal: AbortSignal,
    ) => Promise<Agent>
    /** Hides in texts what `mask` hides in drafts. Absent: nothing. */
    masker?: (owner: string, record: ConversationRecord) => Promise<Masker>
    /** Takes what clients made of calls. Absent: nobody waits for that. */
    clientCalls?: ClientCallBoard
    /** Told of calls whose answers are durable. */
    onAnswered?: (id: ConversationId, callIds: readonly string[]) => void
    /** Absent: hooks cannot run, and a conversation that has some says so. */
    openHooks?: OpenHooks
    /** Phases of a start before the agent itself, in order. */
    phases: readonly Phase[]
    /** Milliseconds that opening the agent may take during a start. */
    agentDeadlineMs?: number
    onActivity: () => void
  }

export class LiveConversation {
  readonly id: ConversationId
  readonly channel: Channel
  readonly #deps: LiveDeps
  readonly #epoch: number
  readonly #owner: string
  readonly #mailbox = new Mailbox()
  readonly #log: LiveLog
  readonly #running: Running
  readonly #startup: Startup
  readonly #errands = new Errands()
  readonly #goal: GoalRounds
  readonly #hooked: Hooked
  /** Messages that hooks look at, in the order they came; nothing else waits for them (F65). */
  readonly #intake = new Mailbox()
  readonly #titling: Titling
  readonly #wish = new CondensationWish()
  readonly #reminder = new Reminder(() => this.#emitSnapshot())
  /** Commands that are being applied: before its turn in the mailbox, one may wait for hooks, or for the agent to open. */
  #commands = 0
  #agent: Promise<Agent> | null = null
  #isClosed = false

  constructor(loaded: Loaded, channel: Channel, deps: LiveDeps) {
    this.id = loaded.id
    this.channel = channel
    this.#deps = deps
    this.#epoch = loaded.epoch
    this.#owner = loaded.owner
    this.#log = new LiveLog(loaded, channel, deps, {
      onLost: () => this.#lose(),
      onCommit: async (events, record, ended) => {
        this.#goal.changed()
        deps.onActivity()
        // Its parent pays, before this conversation goes on.
        if (record.sub_agent && events.some(({ event }) => event.kind === 'UsageRecordedEvent'))
          this.#running.purse = (await deps.kin?.spent(this.id, record, this.state())) ?? null
        if (ended !== null) await deps.runs?.ended(this.id, record, ended)
        if (events.some(({ event }) => event.kind === 'MessageEvent' && event.source === 'user')) this.#titling.start()
        await this.#forgetResults(events)
        const answered = events.flatMap(({ event }) => (event.kind === 'ObservationEvent' ? [event.action_id] : []))
        if (answered.length > 0) deps.onAnswered?.(this.id, answered)
      },
    })
    this.#startup = new Startup(this.#startHost())
    this.#titling = new Titling(this.#titlingHost(), deps)
    this.#goal = new GoalRounds(this.#goalHost())
    this.#hooked = new Hooked({ open: () => this.#openHooks(), state: () => this.state(), record: () => this.record })
    this.#running = new Running(
      {
        id: this.id,
        log: this.#log,
        mailbox: this.#mailbox,
        channel,
        goal: this.#goal,
        hooked: this.#hooked,
        wish: this.#wish,
        reminder: this.#reminder,
        openAgent: () => this.#openAgent(),
        masker: () => this.#masker(),
        started: () => this.start(),
        append: (drafts) => this.#append(drafts),
        emitSnapshot: () => this.#emitSnapshot(),
        isClosed: () => this.#isClosed,
      },
      deps,
    )
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
    return !isWorking && this.#mailbox.isEmpty && this.#errands.isEmpty
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
    if (command.kind === 'interrupt') return void (await this.#interrupt())
    if (command.kind === 'start') return this.#startup.again()
    if (command.kind === 'stop') return this.#stop()
    if (command.kind === 'condense') return this.#condense()
    if (command.kind === 'switch_llm') return this.#switchLlm(command.llm)
    if (command.kind === 'switch_acp_model') return this.#switchAcpModel(command.model)
    if (command.kind === 'set_secrets') return this.#setSecrets(command.secrets)
    if (command.kind === 'client_result') return this.#takeResult(command)
    if (command.kind === 'start_goal' || command.kind === 'resume_goal') await this.#started()
    if (command.kind === 'navigate') await this.#expectStill()
    if (submission === undefined && isReady(this.#log.state) && this.#hooked.looksAtMessages) {
      const said = this.#saidBy(command)
      if (said !== null)
        return this.#intake.run(async () => this.send(command, actor, identified(await this.#submit(said), command)))
    }
    const isOpening = () => isReady(this.#log.state) && needsPreamble(command, this.#log.state)
    // Before the start has ended nobody knows where the agent will work; the start itself opens it then.
    if (isOpening()) await (await this.#openAgent()).prepare?.(AbortSignal.timeout(PREPARE_MS))
    await this.#mailbox.run(async () => {
      if (command.kind === 'send_message' && !isReady(this.#log.state)) return this.#keepForLater(command)
      const decidable = command.kind === 'navigate' ? await this.#target(command.event_id) : command
      const preamble = isOpening() ? (await this.#openAgent()).preamble() : []
      const { drafts, runs, snapshot } = decide(this.#log.state, decidable, actor.keyId, preamble, submission)
      await this.#append(drafts)
      if (runs && command.kind === 'send_message' && this.#running.isGoingOn)
        (await this.#agent?.catch(() => null))?.heard?.()
      if (runs) this.#running.start()
      if (snapshot) this.#emitSnapshot()
      if (command.kind === 'run' && !runs) this.#reminder.ended(performance.now())
    })
  }

  /** A step that is being finished belongs to the branch that it began on. @throws ParleyError `conflict` when it goes on. */
  async #expectStill(): Promise<void> {
    if (this.#wish.isOpen)
      throw new ParleyError('conflict', 'The conversation is being condensed. Navigate when that is done.')
    if (this.#log.state.execution_status === 'running' || !this.#running.isGoingOn) return
    if (!this.#running.isLending)
      await abortable(this.#running.ended, AbortSignal.timeout(STEP_WAIT_MS)).catch(() => undefined)
    if (!this.#running.isGoingOn) return
    throw new ParleyError(
      'conflict',
      'The conversation is paused, and a step of it still goes on. Interrupt it before you navigate, or wait for its end.',
    )
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

  async #masker(): Promise<Masker> {
    return this.#deps.masker?.(this.#owner, this.record) ?? makeMasker([])
  }

  /** The agent's answer to a question beside the conversation; only its cost is recorded. Source: agent-core.md 3.8. */
  ask(question: string, signal: AbortSignal): Promise<string> {
    this.#deps.onActivity()
    return this.#errands.run(async (own) => {
      this.#expectStarted()
      await abortable(this.start(), own)
      const agent = await this.#openAgent()
      const turn = this.#running.turn(await this.#mailbox.run(() => this.#log.openView()))
      const { text, drafts } = await agent.ask(question, turn, own).catch((error: unknown) => {
        throw refusalOf(error)
      })
      await turn.settle()
      await this.#mailbox.run(() => this.#append(drafts))
      // It passes no commit, so what is secret in it is hidden here.
      return expectText((await this.#masker()).text(text))
    }, signal)
  }

  /** Changes what does not come from events; `drafts` tell watchers about it. */
  async update(change: Partial<ConversationRecord>, drafts: readonly Draft[]): Promise<void> {
    this.#deps.onActivity()
    await this.#mailbox.run(async () => {
      this.#log.record = { ...this.#log.record, ...change }
      await this.#append(drafts, this.#log.record, 'title' in change || 'tags' in change)
    })
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

  /** Waits for the end of a start that goes on. @throws ParleyError `conflict`; whatever a start fails with. */
  async #started(): Promise<void> {
    this.#expectStarted()
    if (!isReady(this.#log.state)) await this.start()
  }

  /** Stored first: an agent that is opened later begins with it. */
  #switchLlm(llm: LLM): Promise<void> {
    return this.#mailbox.run(async () => {
      const { record, drafts } = withModel(this.#log.record, llm)
      // What cannot be opened is refused before it is stored.
      this.#deps.openLlm?.(llm)
      await this.#append(drafts, record)
      this.#log.record = record
      const agent = await this.#agent?.catch(() => null)
      if (record.agent.kind === 'Agent') agent?.reconfigure(record.agent)
    })
  }

  /** Outside of the mailbox: the agent's program is asked, and what it says meanwhile has to be stored. */
  async #switchAcpModel(model: string): Promise<void> {
    // What is refused is refused before anybody is asked.
    withAcpModel(this.#log.record, model)
    const agent = await this.#agent?.catch(() => null)
    const tell = await agent?.switchModel?.(model)
    await this.#mailbox.run(async () => {
      const { record, drafts } = withAcpModel(this.#log.record, model)
      await this.#append([...drafts, ...(tell?.(this.#log.state) ?? [])], record)
      this.#log.record = record
    })
  }

  #setSecrets(secrets: SecretSources): Promise<void> {
    return this.#mailbox.run(async () => {
      const record = withSecrets(this.#log.record, secrets)
      await this.#append([], record)
      this.#log.record = record
    })
  }

  async #forgetResults(events: readonly StoredEvent[]): Promise<void> {
    for (const { event } of events) {
      if (event.kind !== 'ObservationEvent' || event.observation.kind !== 'ClientToolObservation') continue
      await this.#deps.clientCalls?.forget(this.id, event.action_id).catch((err: unknown) => {
        this.#deps.log.warn({ conversation_id: this.id, err }, 'the result of a client could not be removed')
      })
    }
  }

  /** Of a call that is open and waits for it; the run that waits goes on, or the next one begins with it. */
  #takeResult({ action_id, result }: Extract<Command, { kind: 'client_result' }>): Promise<void> {
    return this.#mailbox.run(async () => {
      const stored = await this.#deps.storage.events.get(this.id, action_id)
      expectAwaited(this.#log.state, this.#log.record, action_id, stored !== null)
      await this.#deps.clientCalls?.take(this.id, action_id, result)
    })
  }

  #goalHost(): GoalHost {
    return {
      state: () => this.#log.state,
      branch: async () => {
        const path = await readBranch(this.#deps.storage.events, this.id, this.#log.state.leaf_event_id)
        return path.map(({ event }) => event).filter(({ id }) => !Object.hasOwn(this.#log.state.blocked_messages, id))
      },
      model: () => this.#log.record.agent.llm,
      openLlm: this.#deps.openLlm,
      submit: async (text, signal) =>
        this.#hooked.looksAtMessages
          ? this.#hooked.submit([textContent(text)], this.#log.state.hook_config, signal, GOAL_SENDER)
          : undefined,
      commit: (drafts) => this.#mailbox.run(() => this.#append(drafts(this.#log.state))),
      onFailure: (err) => this.#deps.log.warn({ conversation_id: this.id, err }, 'a goal could not be judged'),
    }
  }

  #openHooks() {
    const { openHooks } = this.#deps
    if (openHooks === undefined)
      throw new ParleyError('unsupported', 'This conversation has hooks, and this server cannot run any.')
    const { record } = this.#log
    const starting = { id: this.id, owner: this.#owner, epoch: this.#epoch, record, current: () => this.#log.record }
    return openHooks(starting, new AbortController().signal)
  }

  /** The message that a command says to the agent; null for one that says none. @throws ParleyError `bad_request`, `conflict`. */
  #saidBy(command: Command): { content: MessageContent; sender: string | null } | null {
    if (command.kind === 'send_message') return { content: command.content, sender: null }
    if (command.kind !== 'start_goal' && command.kind !== 'resume_goal') return null
    return { content: [textContent(goalText(this.#log.state, command))], sender: GOAL_SENDER }
  }

  #submit({ content, sender }: { content: MessageContent; sender: string | null }): Promise<Submission> {
    const { hook_config } = this.#log.state
    const asked = this.#errands.run((signal) => this.#hooked.submit(content, hook_config, signal, sender))
    return asked.catch((error: unknown) => {
      if (!(error instanceof RunCancelled)) throw error
      throw new ParleyError(
        'unavailable',
        'The server let go of the conversation while hooks looked at the message. Send it again.',
      )
    })
  }

  /** Tells hooks that the session is over, as far as it began, and records it. A hook that fails ends nothing else. */
  async endSession(preamble: readonly Draft[] = []): Promise<void> {
    const drafts = await this.#errands.run((signal) => this.#hooked.end(signal))
    if (drafts.length === 0) return
    await this.#mailbox.run(() => this.#append([...(this.#log.state.has_system_prompt ? [] : preamble), ...drafts]))
  }

  #startHost(): StartHost {
    const { phases, agentDeadlineMs, log } = this.#deps
    return {
      phases,
      agentDeadlineMs,
      starting: () => ({ id: this.id, owner: this.#owner, epoch: this.#epoch, record: this.#log.record }),
      state: () => this.#log.state,
      openAgent: () => this.#openAgent(),
      beginSession: (signal) => this.#hooked.begin(signal),
      submit: (...message) => this.#hooked.submit(...message),
      inTurn: (work) => this.#mailbox.run(work),
      append: async (drafts, change) => {
        const record = { ...this.#log.record, ...change }
        await this.#append(drafts, Object.keys(change).length === 0 ? undefined : record)
        this.#log.record = record
      },
      startRun: () => this.#running.start(),
      isCalledOff: (reason) => isInterruption(reason) && !this.#isClosed,
      isLost: () => this.#isClosed,
      onFailure: (phase, code) => log.warn({ conversation_id: this.id, phase, code }, 'a start failed'),
    }
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
    const agent = await this.#agent?.catch(() => null)
    await agent?.[Symbol.asyncDispose]()
  }

  snapshot(): { kind: 'snapshot'; seq: number; value: Record<string, unknown> } {
    return { kind: 'snapshot', seq: this.#log.state.seq, value: fullState(this.id, this.#log.record, this.#log.state) }
  }

  async #target(event: Extract<Command, { kind: 'navigate' }>['event_id']) {
    const target = await navigationTarget(this.#deps.storage.events, this.id, event, this.#log.state.blocked_messages)
    if (target === null)
      throw new ParleyError('not_found', `Event not found: ${event}`, { details: { event_id: event } })
    const { activated_knowledge_skills: active } = this.#log.state
    if (active.length === 0) return { kind: 'navigate' as const, target }
    const path = await readBranch(this.#deps.storage.events, this.id, target.to)
    return { kind: 'navigate' as const, target, given: givenOn(path, active) }
  }

  async #keepForLater(command: Extract<Command, { kind: 'send_message' }>): Promise<void> {
    if (this.#log.record.pending_messages.length >= MAX_PENDING_MESSAGES) {
      throw new ParleyError(
        'conflict',
        `${MAX_PENDING_MESSAGES} messages wait for the start of this conversation already. Send more when it has started.`,
      )
    }
    this.#log.record = {
      ...this.#log.record,
      pending_messages: [...this.#log.record.pending_messages, command.content],
    }
    await this.#append(
      command.run && this.#log.state.execution_status !== 'running' ? [statusChanged('running')] : [],
      this.#log.record,
    )
    if (command.run) this.#running.start()
    else this.start().catch(() => undefined)
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

  #expectStarted(): void {
    if (hasToStartAgain(this.#log.state))
      throw new ParleyError('conflict', 'The conversation is stopped. Start it again first.')
  }

  #titlingHost(): TitlingHost {
    return {
      id: this.id,
      owner: this.#owner,
      events: this.#deps.storage.events,
      errands: this.#errands,
      record: () => this.#log.record,
      blocked: () => this.#log.state.blocked_messages,
      inTurn: (work) => this.#mailbox.run(work),
      store: async (drafts, title) => {
        const record = title === null ? undefined : { ...this.#log.record, title }
        await this.#append(drafts, record, record !== undefined)
        this.#log.record = record ?? this.#log.record
      },
      isLost: () => this.#isClosed,
    }
  }

  #openAgent(): Promise<Agent> {
    this.#agent ??= this.#deps
      .openAgent(
        {
          id: this.id,
          owner: this.#owner,
          record: this.#log.record,
          epoch: this.#epoch,
          secrets: () => this.#log.record.secrets ?? {},
          current: () => this.#log.record,
        },
        new AbortController().signal,
      )
      .catch((error: unknown) => {
        this.#agent = null
        throw error
      })
    return this.#agent
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
    this.#agent?.then((agent) => agent[Symbol.asyncDispose]()).catch(() => undefined)
    this.#deps.log.warn({ conversation_id: this.id }, 'another owner took this conversation over')
  }

  #emitSnapshot(): void {
    if (this.channel.watchers > 0) this.channel.emit(this.snapshot())
  }

  /** Source: conversation-service.md 1.5, RUNNING to STOPPED. */
  async #stop(): Promise<void> {
    if (hasToStartAgain(this.#log.state) && !this.#startup.isGoingOn) return
    const hadBegun = isReady(this.#log.state)
    const agent = await this.#interrupt(phaseEvent('ready', 'failed', STOPPED, 'The conversation was stopped.'))
    if (hadBegun) await this.endSession(agent?.preamble())
    await agent?.[Symbol.asyncDispose]()
  }

  /**
   * Cancels what goes on and closes what it left open. Without a run it is a pause. Source: agent-core.md 1.16.
   * @param stop recorded with it: the conversation lets go of its agent, which is returned
   */
  async #interrupt(stop?: Draft): Promise<Agent | null> {
    const wasRunning = this.#running.isGoingOn
    const { ended } = this.#running
    // First those that work for it: a process that dies in between finds a parent that still waits for them.
    if (this.#running.isLending || this.#log.state.awaiting_approval?.sub_agent !== undefined)
      await this.#deps.kin?.interrupt(this.id)
    this.#running.cancel('interrupted')
    await this.#startup.cancel(new RunCancelled('interrupted'))
    let left: readonly Draft[] = []
    if (wasRunning) {
      const agent = await this.#agent?.catch(() => null)
      left = (await agent?.interrupt().catch(() => undefined)) ?? []
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, INTERRUPT_WAIT_MS).unref())])
    }
    const released = await this.#mailbox.run(async () => {
      const { execution_status: status, open_actions, awaiting_approval } = this.#log.state
      const drafts: Draft[] = []
      if (status === 'running' || awaiting_approval?.sub_agent !== undefined) {
        drafts.push(
          ...left,
          ...open_actions.map((action) => closeAction(action, 'Tool call interrupted before completion.')),
          ...withoutBlocks(
            this.#log.state,
            open_actions.map(({ id }) => id),
          ),
          statusChanged('paused', 'interrupted'),
          { kind: 'InterruptEvent', source: 'user' },
        )
      } else if (status === 'idle' && stop === undefined) {
        drafts.push(statusChanged('paused'), { kind: 'PauseEvent', source: 'user' })
      }
      if (stop !== undefined && !hasToStartAgain(this.#log.state)) drafts.push(stop)
      await this.#append(drafts)
      this.#emitSnapshot()
      if (stop === undefined) return null
      const agent = this.#agent
      this.#agent = null
      return { agent }
    })
    return (await released?.agent?.catch(() => null)) ?? null
  }
}

/** Commands after which the branch begins with the system prompt. */
const OPENING: ReadonlySet<Command['kind']> = new Set<Command['kind']>([
  'send_message',
  'run',
  'start_goal',
  'resume_goal',
])

/** A message keeps the id that it was sent under. */
function identified(submission: Submission, command: Command): Submission {
  if (command.kind !== 'send_message' || command.message_id === undefined) return submission
  return { ...submission, message: { ...submission.message, id: command.message_id } }
}

function needsPreamble(command: Command, state: ConversationState): boolean {
  return OPENING.has(command.kind) && !state.has_system_prompt
}
