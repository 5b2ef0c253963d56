/** A chat of one person with one conversation: sends typed lines and prints events as they arrive. */
import type { Conversation } from '@parley/client'
import type { EventFrame, Frame } from '@parley/protocol'
import type { Io } from './io.ts'
import { Lines } from './lines.ts'
import type { View } from './render.ts'
import { Transcript } from './transcript.ts'
import { Turn } from './turn.ts'

export class ChatSession {
  readonly #conversation: Conversation
  readonly #turn: Turn
  readonly #transcript: Transcript
  readonly #view: View
  readonly #io: Io
  readonly #stop = new AbortController()
  #lines!: Lines
  #wake: (() => void) | null = null
  #isInterrupting = false
  #hasFailed = false

  constructor(conversation: Conversation, status: string, view: View, io: Io) {
    this.#conversation = conversation
    this.#turn = new Turn(status)
    this.#transcript = new Transcript(view)
    this.#view = view
    this.#io = io
  }

  /** Runs until `/quit`, the end of the input or the end of the conversation. Resolves to the exit code. */
  async run(): Promise<number> {
    const forget = this.#io.onSignal((signal) => (signal === 'SIGINT' ? this.#interrupted() : this.#leave()))
    using lines = new Lines(this.#io, () => this.#interrupted())
    this.#lines = lines
    const watching = this.#watch()
    // A failure of the watch ends the loop below and is thrown where it is awaited; until then it must not be an unhandled rejection.
    watching.catch(() => {})
    try {
      lines.ask()
      await this.#read(lines)
      this.#stop.abort()
      await watching
      return this.#hasFailed || ['error', 'stuck'].includes(this.#turn.status) ? 1 : 0
    } finally {
      this.#stop.abort()
      forget()
    }
  }

  /** From a pipe, the next line is read after the answer to the previous one is complete; a person may type ahead. */
  async #read(lines: Lines): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const mayRead = lines.isTerminal || this.#turn.isOver
      const line = mayRead ? lines.take() : undefined
      if (line === undefined) {
        await this.#change(mayRead ? lines.arrival() : undefined)
      } else if (line === null) {
        // A person who closes the terminal leaves; after the end of a pipe its last answer is still printed.
        if (lines.isTerminal) return
        while (!this.#turn.isOver && !this.#stop.signal.aborted) await this.#change()
        return
      } else {
        if (line.trim() === '/quit') return
        await this.#enter(line.trim())
      }
    }
  }

  async #enter(line: string): Promise<void> {
    try {
      if (line === '/pause') await this.#conversation.pause()
      else if (line === '/interrupt') await this.#conversation.interrupt()
      else if (line === '/run') await this.#resume(() => this.#conversation.run(this.#shownBatch()))
      else if (line.startsWith('/')) this.#say(`there is no ${line}; there are /pause, /run, /interrupt and /quit`)
      else if (this.#turn.status === 'waiting_for_confirmation') await this.#decide(line)
      else if (line !== '') await this.#send(line)
      else this.#lines.ask()
    } catch (error) {
      this.#hasFailed = !this.#lines.isTerminal
      this.#say(this.#view.paint('red', `✗ ${(error as Error).message}`))
    }
  }

  async #send(text: string): Promise<void> {
    this.#turn.asked()
    try {
      await this.#conversation.send(text)
    } catch (error) {
      this.#turn.refused()
      throw error
    }
  }

  async #decide(line: string): Promise<void> {
    if (line === '') return this.#askToDecide()
    if (/^y(es)?$/i.test(line))
      return this.#resume(() => this.#conversation.respond({ accept: true, ...this.#shownBatch() }))
    const isBare = /^no?$/i.test(line)
    await this.#conversation.respond({ accept: false, ...this.#shownBatch(), ...(isBare ? {} : { reason: line }) })
    // A rejection with a reason lets the agent continue; without one the person writes the next message.
    if (!isBare) await this.#resume(() => this.#conversation.run())
  }

  /** Names the batch on the screen, so that no other one is approved. */
  #shownBatch(): { batch_id?: string } {
    const { status, batchId } = this.#turn
    return status !== 'waiting_for_confirmation' || batchId === undefined ? {} : { batch_id: batchId }
  }

  async #resume(call: () => Promise<unknown>): Promise<void> {
    this.#turn.resumed()
    await call()
  }

  async #watch(): Promise<void> {
    try {
      for await (const frame of this.#conversation.watch({ after: 0, signal: this.#stop.signal })) {
        this.#show(frame)
        this.#changed()
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error
    } finally {
      this.#leave()
    }
  }

  #show(frame: Frame): void {
    const wasOver = this.#turn.isOver
    switch (frame.type) {
      case 'delta': {
        const text = this.#transcript.delta(frame.content ?? '')
        if (text !== '') this.#lines.print(text)
        return
      }
      case 'refused':
        this.#lines.print(`${this.#view.paint('yellow', `the conversation has ended: ${frame.reason}`)}\n`)
        return
      case 'snapshot':
        this.#turn.statusIs(String(frame.state['execution_status']))
        break
      case 'event':
        this.#showEvent(frame.event)
        break
      default:
        return
    }
    if (this.#turn.isOver) {
      this.#isInterrupting = false
      if (!wasOver && this.#turn.status === 'waiting_for_confirmation') this.#askToDecide()
      else this.#lines.ask()
    }
  }

  #showEvent(event: EventFrame['event']): void {
    const isOwn = event.kind === 'MessageEvent' && event.source === 'user' && this.#turn.isAwaitingMessage
    this.#turn.see(event)
    // A terminal shows the typed line already.
    const text = isOwn && this.#lines.isTerminal ? '' : this.#transcript.event(event)
    if (text !== '') this.#lines.print(text)
  }

  #askToDecide(): void {
    this.#say(this.#view.paint('yellow', '  y approves, n rejects, any other line rejects and becomes the reason'))
  }

  #say(text: string): void {
    this.#lines.print(`${text}\n`)
    this.#lines.ask()
  }

  /** The first Ctrl-C interrupts the run; without a run, or when it does not stop, the next one ends the chat. */
  #interrupted(): void {
    if (this.#turn.isOver || this.#isInterrupting) return this.#leave()
    this.#isInterrupting = true
    this.#conversation.interrupt().catch((error: Error) => this.#say(this.#view.paint('red', `✗ ${error.message}`)))
  }

  #leave(): void {
    this.#stop.abort()
    this.#changed()
  }

  #change(other?: Promise<void>): Promise<void> {
    const change = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    return other === undefined ? change : Promise.race([change, other])
  }

  #changed(): void {
    this.#wake?.()
    this.#wake = null
  }
}
