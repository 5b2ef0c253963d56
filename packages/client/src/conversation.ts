/** One conversation, seen from a client. Only this file and `client.ts` know which endpoint does what. */
import {
  agentFinalResponse,
  askAgent,
  condenseConversation,
  deleteConversation,
  forkConversation,
  getConversation,
  interruptConversation,
  navigateConversation,
  pauseConversation,
  postClientToolResult,
  respondToConfirmation,
  runConversation,
  sendMessage,
  streamEvents,
  type ConversationId,
  type ConversationInfo,
  type DeltaFrame,
  type ClientToolResultInput,
  type Endpoint,
  type EventFrame,
  type EventId,
  type Frame,
  type SendMessageRequestInput,
} from '@parley/protocol'
import { call, open, type Request, type Server } from './call.ts'
import { follow, type Follow } from './stream.ts'

export type WatchOptions = {
  /** The newest `seq` that is known already; 0, the default, for everything. */
  after?: number
  signal?: AbortSignal
}

/** The server sends a comment well before this when there is nothing else to send. */
const SILENCE_MS = 60_000
/** A restarted server is back within a second or two; a dead one is not worth a storm of requests. */
const RECONNECT = { firstMs: 50, maxMs: 5000 }

export class Conversation {
  readonly id: ConversationId
  readonly #server: Server

  constructor(server: Server, id: ConversationId) {
    this.#server = server
    this.id = id
  }

  /** @throws CallError with status 404 when there is none, or it is somebody else's. So do all calls below. */
  info(signal?: AbortSignal): Promise<ConversationInfo> {
    return this.#call(getConversation, {}, signal)
  }

  /** Stores a user message and, unless told otherwise, lets the agent answer it. Resolves when it is stored. */
  async send(
    content: string | SendMessageRequestInput['content'],
    options: { run?: boolean; signal?: AbortSignal } = {},
  ): Promise<void> {
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
    const body: SendMessageRequestInput = {
      role: 'user',
      run: options.run ?? true,
      ...(parts === undefined ? {} : { content: parts }),
    }
    await this.#call(sendMessage, { body }, options.signal)
  }

  /** Lets the agent go on in the background. @throws CallError with status 409 when it is running already. */
  async run(signal?: AbortSignal): Promise<void> {
    await this.#call(runConversation, {}, signal)
  }

  /** Stops before the next step. */
  async pause(signal?: AbortSignal): Promise<void> {
    await this.#call(pauseConversation, { isRepeatable: true }, signal)
  }

  /** Cancels what is in flight and stops. */
  async interrupt(signal?: AbortSignal): Promise<void> {
    await this.#call(interruptConversation, {}, signal)
  }

  /** Answers the batch of actions that waits, or the one that `llm_response_id` names. */
  async respond(
    answer: { accept: boolean; reason?: string; llm_response_id?: string },
    signal?: AbortSignal,
  ): Promise<void> {
    await this.#call(respondToConfirmation, { body: answer }, signal)
  }

  /**
   * Brings what came of a call of a client tool that awaits its result: the event is the call's ActionEvent.
   * @throws CallError with status 409 when the call has a result, was ended, or its time has passed.
   */
  async postResult(event_id: EventId, result: ClientToolResultInput, signal?: AbortSignal): Promise<void> {
    const path = { conversation_id: this.id, event_id }
    await call(this.#server, postClientToolResult, { path, body: result }, signal)
  }

  /** What the agent says to a question beside its task, also while it works; nothing but the cost is recorded. */
  async ask(question: string, signal?: AbortSignal): Promise<string> {
    return (await this.#call(askAgent, { body: { question } }, signal)).response
  }

  /** Text of the last finish or message of the agent; empty when there is none. */
  async finalResponse(signal?: AbortSignal): Promise<string> {
    return (await this.#call(agentFinalResponse, {}, signal)).response
  }

  /** Puts a summary in the place of the older part of what the model sees. @throws CallError with status 400 without a condenser. */
  async condense(signal?: AbortSignal): Promise<void> {
    await this.#call(condenseConversation, {}, signal)
  }

  /** Copies the conversation, or the branch that ends at `from_event_id`, into a new one. */
  async fork(
    request: { title?: string; tags?: Record<string, string>; reset_metrics?: boolean; from_event_id?: EventId } = {},
    signal?: AbortSignal,
  ): Promise<Conversation> {
    const { id } = await this.#call(forkConversation, { body: request }, signal)
    return new Conversation(this.#server, id)
  }

  /** Moves the leaf to any event of this conversation; null for the empty tree. */
  navigate(event_id: EventId | null, signal?: AbortSignal): Promise<ConversationInfo> {
    return this.#call(navigateConversation, { body: { event_id } }, signal)
  }

  /** Removes the conversation; its working directory stays. */
  async delete(signal?: AbortSignal): Promise<void> {
    await this.#call(deleteConversation, {}, signal)
  }

  /**
   * Everything there is to see: stored events in the order of `seq`, each once, over reconnects and restarts of the server;
   * deltas and snapshots while they are live. Ends after a frame of type `refused`, such as at a deletion.
   * @throws CallError for a refusal that will not pass; the signal's reason when it aborts.
   */
  watch({ after = 0, signal }: WatchOptions = {}): AsyncGenerator<Frame> {
    return follow<Frame>({
      open: (after_seq, live) => this.#openStream(after_seq, live),
      read: readFrame,
      after,
      backOff: this.#server.backOff ?? RECONNECT,
      silenceMs: SILENCE_MS,
      signal,
    })
  }

  /** Stored events only; otherwise as `watch`. */
  async *events(options: WatchOptions = {}): AsyncGenerator<Pick<EventFrame, 'seq' | 'event'>> {
    for await (const frame of this.watch(options))
      if (frame.type === 'event') yield { seq: frame.seq, event: frame.event }
  }

  /** Live pieces of answers that are being written. What came before the call, or while the connection was away, is not among them. */
  async *deltas(options: WatchOptions = {}): AsyncGenerator<Omit<DeltaFrame, 'type'>> {
    for await (const frame of this.watch(options)) {
      if (frame.type !== 'delta') continue
      const { type: _type, ...delta } = frame
      yield delta
    }
  }

  async #openStream(after_seq: number, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const path = { conversation_id: this.id }
    const headers = { Accept: 'text/event-stream' }
    // Whoever follows does the repeating: it also knows how long to wait after an answer that came and broke off.
    const server = { ...this.#server, retries: 0 }
    const response = await open(server, streamEvents, { path, headers, query: { after_seq } }, signal)
    return response.body ?? new ReadableStream({ start: (controller) => controller.close() })
  }

  #call<E extends Endpoint>(row: E, request: Request<E>, signal: AbortSignal | undefined) {
    return call(this.#server, row, { ...request, path: { conversation_id: this.id } }, signal)
  }
}

/** Frames of a type that this version does not know are passed over. */
function readFrame({ data }: { data: string }): ReturnType<Follow<Frame>['read']> {
  const frame = JSON.parse(data) as Frame
  switch (frame.type) {
    case 'event':
      return { item: frame, seq: frame.seq }
    case 'delta':
    case 'snapshot':
      return { item: frame, seq: null }
    case 'refused':
      return { item: frame, seq: null, isLast: true }
    default:
      return null
  }
}
