/** A conversation as the session follows it: its state, the actions that wait, and what is new. */
import type { Conversation } from '@parley/client'
import type { SessionFrame } from '@parley/protocol'
import type { ShownEvent } from '../render.ts'
import type { AskedAction } from './approval-card.ts'
import type { State } from './status-text.ts'

/** Newest events of an earlier time that are shown. */
const SHOWN_EARLIER = 150

export type Request = { batchId: string; actions: AskedAction[] }

export type WatchedDeps = {
  /** Called with events that are new to the screen, oldest first. */
  onEvents: (events: readonly ShownEvent[]) => void
  /** Called with frames that are not stored. */
  onFrame: (frame: SessionFrame) => void
  /** Called when the state or the connection has changed. */
  onState: () => void
  /** Called when no frame follows; null: the conversation has ended, or was closed. */
  onEnd: (error: Error | null) => void
}

type Asked = { action_id?: string; tool_name?: string; risk?: string; reasons?: { text?: string }[] }
type StoredRequest = { batch_id?: string; actions?: Asked[]; sub_agent?: { actions?: Asked[] } }

export class Watched {
  readonly conversation: Conversation
  readonly #deps: WatchedDeps
  readonly #stop = new AbortController()
  readonly #actions = new Map<string, ShownEvent>()
  #state: Record<string, unknown> = {}
  #earlierUntil: number | null = null
  #earlier: ShownEvent[] = []
  isConnected = true

  constructor(conversation: Conversation, deps: WatchedDeps) {
    this.conversation = conversation
    this.#deps = deps
    void this.#follow()
  }

  get state(): State {
    return this.#state
  }

  get isRunning(): boolean {
    return this.#state['execution_status'] === 'running'
  }

  /** The batch that waits for a decision; null without one. */
  get request(): Request | null {
    const request = this.#state['confirmation_request'] as StoredRequest | undefined
    if (this.#state['execution_status'] !== 'waiting_for_confirmation' || request?.batch_id === undefined) return null
    const actions = (request.sub_agent?.actions ?? request.actions ?? []).map((asked) => ({
      event: asked.action_id === undefined ? undefined : this.#actions.get(asked.action_id),
      tool: asked.tool_name ?? 'an action',
      risk: asked.risk ?? 'UNKNOWN',
      reasons: (asked.reasons ?? []).flatMap(({ text }) => (text === undefined ? [] : [text])),
    }))
    return { batchId: request.batch_id, actions }
  }

  close(): void {
    this.#stop.abort()
  }

  async #follow(): Promise<void> {
    const onConnection = (isOpen: boolean) => {
      this.isConnected = isOpen
      if (!this.#stop.signal.aborted) this.#deps.onState()
    }
    try {
      for await (const frame of this.conversation.session({ signal: this.#stop.signal, onConnection }))
        this.#take(frame)
      this.#deps.onEnd(null)
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#deps.onEnd(error as Error)
    }
  }

  #take(frame: SessionFrame): void {
    if (frame.type === 'snapshot') {
      this.#state = { ...this.#state, ...frame.state }
      this.#earlierUntil ??= frame.seq
      this.#deps.onState()
    } else if (frame.type === 'event') this.#event(frame.seq, frame.event)
    else this.#deps.onFrame(frame)
  }

  #event(seq: number, event: ShownEvent): void {
    if (event.kind === 'ActionEvent') this.#actions.set(event.id, event)
    const isEarlier = seq <= (this.#earlierUntil ?? 0)
    if (event.kind === 'ConversationStateUpdateEvent') {
      // The snapshot has the newer values; only the question is not part of it.
      if (!isEarlier || event.key === 'confirmation_request') this.#state[event.key] = event.value
    }
    if (!isEarlier) this.#deps.onEvents([event])
    else {
      this.#earlier.push(event)
      if (this.#earlier.length > SHOWN_EARLIER) this.#earlier.shift()
      if (seq === this.#earlierUntil) this.#deps.onEvents(this.#earlier.splice(0))
    }
    if (!isEarlier || seq === this.#earlierUntil) this.#deps.onState()
  }
}
