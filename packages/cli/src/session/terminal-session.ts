/** The interactive session: one person, one conversation at a time. */
import { isKeyRelease, matchesKey, SelectList } from '@earendil-works/pi-tui'
import type { Conversation, ParleyClient } from '@parley/client'
import type { SessionFrame } from '@parley/protocol'
import { newestConversations, shortId } from '../find-conversation.ts'
import type { Io } from '../io.ts'
import { painter, plain } from '../paint.ts'
import { POLICIES, policyNamed, ANALYZER } from '../policies.ts'
import type { ShownEvent } from '../render.ts'
import { wantsColour } from '../io.ts'
import { ApprovalCard, type Answer } from './approval-card.ts'
import { blocksOf } from './blocks.ts'
import { History } from './history.ts'
import { Screen } from './screen.ts'
import { HELP, SLASH_COMMANDS, slashCommandOf, type SlashCommandName } from './slash-commands.ts'
import { modelOf, statusText } from './status-text.ts'
import { themeOf } from './theme.ts'
import { Watched } from './watched.ts'

/** Milliseconds in which a second Ctrl-C leaves. */
const LEAVE_MS = 2000
/** Conversations that can be chosen from. */
const CHOICES = 50

export type SessionDeps = {
  client: ParleyClient
  io: Io
  directory: string
  /** Starts another conversation in the directory. */
  startNew: () => Promise<Conversation>
}

export class TerminalSession {
  readonly #deps: SessionDeps
  readonly #screen: Screen
  readonly #history: History
  readonly #left = Promise.withResolvers<void>()
  #watched: Watched | null = null
  #isInterrupting = false
  #askedBatch: string | undefined
  #isReasonWanted = false
  #leavesUntil = 0

  constructor(deps: SessionDeps) {
    this.#deps = deps
    this.#screen = new Screen(themeOf(painter(wantsColour(deps.io))), (data) => this.#key(data))
    this.#history = new History(deps.io)
    const { editor } = this.#screen
    for (const message of this.#history.messages) editor.addToHistory(message)
    editor.onSubmit = (text) => void this.#submitted(text)
  }

  /** Runs until the person leaves. Resolves to the id of the conversation that was open. */
  async run(first: Conversation): Promise<string> {
    const forget = this.#deps.io.onSignal(() => this.#left.resolve())
    this.#screen.complete([...SLASH_COMMANDS], this.#deps.directory)
    this.#screen.start()
    try {
      this.#attach(first)
      await this.#left.promise
      return this.#watched?.conversation.id ?? first.id
    } finally {
      this.#watched?.close()
      this.#screen.stop()
      forget()
    }
  }

  #attach(conversation: Conversation): void {
    this.#watched?.close()
    this.#screen.clear()
    this.#screen.live.end()
    this.#askedBatch = undefined
    this.#screen.ask(null)
    this.#say(
      'dim',
      `${this.#deps.directory} · conversation ${shortId(conversation.id)} · /help shows commands and keys`,
    )
    const watched: Watched = new Watched(conversation, {
      onEvents: (events) => this.#show(events),
      onFrame: (frame) => this.#frame(frame),
      onState: () => this.#update(),
      onEnd: (error) => {
        if (error !== null) this.#say('red', `✗ ${error.message}`)
      },
    })
    this.#watched = watched
  }

  #show(events: readonly ShownEvent[]): void {
    const { theme, live } = this.#screen
    const view = { paint: theme.paint, maxLines: 12, workingDir: this.#deps.directory }
    for (const event of events) {
      if (event.kind === 'ObservationEvent') live.clearOutput()
      const blocks = blocksOf(event, view, theme)
      if (blocks.length === 0) continue
      if (event.source === 'agent') live.clearAnswer()
      this.#screen.add(blocks)
    }
  }

  #frame(frame: SessionFrame): void {
    if (frame.type === 'refused') this.#say('yellow', `the conversation has ended: ${frame.reason}`)
    else this.#screen.live.take(frame)
  }

  #update(): void {
    const watched = this.#watched
    if (watched === null) return
    const { live } = this.#screen
    if (watched.isRunning) live.begin(this.#isInterrupting ? 'interrupting; Ctrl+C leaves' : 'Ctrl+C interrupts')
    else {
      live.end()
      this.#isInterrupting = false
    }
    const { request } = watched
    if (request?.batchId !== this.#askedBatch) {
      this.#askedBatch = request?.batchId
      this.#askCard()
    }
    this.#screen.setStatus(statusText(watched.state, watched.conversation.id, watched.isConnected))
  }

  #askCard(): void {
    this.#isReasonWanted = false
    const request = this.#watched?.request ?? null
    if (request === null) return this.#screen.ask(null)
    const { theme, editor } = this.#screen
    const view = { paint: theme.paint, maxLines: 200, workingDir: this.#deps.directory }
    const { batchId, actions } = request
    const card = new ApprovalCard({
      actions,
      view,
      theme,
      onAnswer: (answer) => void this.#answered(answer, batchId),
      onOther: (data) => {
        editor.handleInput(data)
        this.#screen.redraw()
      },
    })
    this.#screen.ask(card)
  }

  async #answered(answer: Answer, batch_id: string): Promise<void> {
    if (answer === 'refuse_with_reason') {
      this.#isReasonWanted = true
      this.#screen.ask(null)
      return this.#say(
        'yellow',
        '  Why not? The agent reads the reason. Enter refuses, Escape returns to the question.',
      )
    }
    await this.#try(() => this.#conversation.respond({ accept: answer === 'once', batch_id }))
  }

  async #refuse(reason: string): Promise<void> {
    const batch_id = this.#askedBatch
    this.#isReasonWanted = false
    await this.#try(async () => {
      await this.#conversation.respond({ accept: false, reason, ...(batch_id === undefined ? {} : { batch_id }) })
      // With a reason the agent continues; without one the person writes the next message.
      await this.#conversation.run()
    })
  }

  async #submitted(text: string): Promise<void> {
    if (text === '') return
    if (this.#isReasonWanted) return this.#refuse(text)
    this.#history.add(text)
    this.#screen.editor.addToHistory(text)
    const command = slashCommandOf(text)
    if (command === null) return this.#try(() => this.#conversation.send(text), text)
    if (command.name === null) return this.#say('yellow', `there is no /${command.word}; /help shows the commands`)
    const { name, rest } = command
    await this.#try(() => this.#command(name, rest))
  }

  async #command(name: SlashCommandName, rest: string): Promise<void> {
    switch (name) {
      case 'help':
        return this.#screen.addLines('', ...HELP)
      case 'model':
        return rest === '' ? this.#models() : this.#conversation.switchProfile(rest)
      case 'policy':
        return this.#policy(rest)
      case 'new':
        return this.#attach(await this.#deps.startNew())
      case 'resume':
        return this.#choose()
      case 'cost':
        return this.#say('dim', statusText(this.#watched!.state, this.#conversation.id, true))
      case 'quit':
        return this.#left.resolve()
    }
  }

  async #models(): Promise<void> {
    const { profiles } = await this.#deps.client.modelProfiles()
    const rows = profiles.map(({ name, model }) => `  ${plain(name)}${model === null ? '' : ` · ${plain(model)}`}`)
    this.#say('dim', `the model is ${modelOf(this.#watched!.state)}`)
    this.#screen.addLines(...(rows.length === 0 ? ['  no model profiles are stored; add them in the web UI'] : rows))
  }

  async #policy(word: string): Promise<void> {
    const policy = policyNamed(word)
    if (policy === 'risky') await this.#conversation.setSecurityAnalyzer(ANALYZER)
    await this.#conversation.setConfirmationPolicy(POLICIES[policy])
  }

  async #choose(): Promise<void> {
    const items = []
    for await (const { id, title, execution_status, workspace } of newestConversations(this.#deps.client)) {
      if (workspace.working_dir !== this.#deps.directory) continue
      items.push({ value: id, label: `${shortId(id)}  ${execution_status}`, description: plain(title ?? '') })
      if (items.length === CHOICES) break
    }
    const list = new SelectList(items, 10, this.#screen.theme.select)
    list.onSelect = ({ value }) => this.#attach(this.#deps.client.conversation(value as never))
    list.onCancel = () => this.#askCard()
    this.#screen.ask(list)
  }

  get #conversation(): Conversation {
    return this.#watched!.conversation
  }

  /** A failure is shown; `text` is then in the editor again. */
  async #try(work: () => Promise<unknown>, text = ''): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#say('red', `✗ ${(error as Error).message}`)
      if (text !== '') this.#screen.editor.setText(text)
    }
  }

  #say(colour: 'dim' | 'yellow' | 'red', text: string): void {
    this.#screen.addText(this.#screen.theme.paint(colour, text))
  }

  /** Ctrl-C interrupts the run, then clears the message, then leaves. */
  #key(data: string): boolean {
    if (isKeyRelease(data)) return false
    const { editor } = this.#screen
    if (matchesKey(data, 'escape') && this.#isReasonWanted) {
      this.#askCard()
      return true
    }
    if (matchesKey(data, 'ctrl+d') && editor.getText() === '') {
      this.#left.resolve()
      return true
    }
    if (!matchesKey(data, 'ctrl+c')) return false
    if (this.#watched?.isRunning === true && !this.#isInterrupting) {
      this.#isInterrupting = true
      void this.#try(() => this.#conversation.interrupt())
      this.#update()
    } else if (this.#watched?.isRunning !== true && editor.getText() !== '') editor.setText('')
    else if (this.#watched?.isRunning === true || performance.now() < this.#leavesUntil) this.#left.resolve()
    else {
      this.#leavesUntil = performance.now() + LEAVE_MS
      this.#screen.setStatus('Ctrl+C again leaves; the conversation is kept')
    }
    this.#screen.redraw()
    return true
  }
}
