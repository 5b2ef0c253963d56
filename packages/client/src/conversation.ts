/** Handle of one conversation. Only this file and `client.ts` choose endpoints. */
import type {
  BodyInput,
  ConfirmationPolicyInput,
  ConversationId,
  ConversationInfo,
  DeletedWorkspace,
  DeltaFrame,
  ClientToolResultInput,
  Endpoint,
  EventFrame,
  EventId,
  Frame,
  SendEventRequestInput,
  SessionFrame,
  setSecurityAnalyzer,
} from '@parley/protocol'
import { newConversationId } from './conversation-id.ts'
import { call, open, type Request, type Server } from './call.ts'
import type { RouteOf } from './route.ts'
import { sessionFrames } from './session-socket.ts'
import { follow, type Follow } from './stream.ts'
import * as routes from './routes.gen.ts'

export type WatchOptions = {
  /** Events with a greater `seq` are yielded; default 0, which means all. */
  after?: number
  signal?: AbortSignal
}

/** Milliseconds. The server sends a comment well before this when it has nothing else to send. */
const SILENCE_MS = 60_000
/** A restarted server answers within a second or two; a stopped one must not receive a storm of requests. */
const RECONNECT = { firstMs: 50, maxMs: 5000 }

export class Conversation {
  readonly id: ConversationId
  readonly #server: Server

  constructor(server: Server, id: ConversationId) {
    this.#server = server
    this.id = id
  }

  /** @throws CallError with status 404 when the conversation does not exist or belongs to another user; so do all calls below. */
  info(signal?: AbortSignal): Promise<ConversationInfo> {
    return this.#call(routes.getConversation, {}, signal)
  }

  /**
   * Stores a user message and, unless `run` is false, starts a run. Resolves when the message is stored. A request that gets no
   * answer is repeated under the same id, so that the message is stored once. `event_id`: an id of the caller's own.
   */
  async send(
    content: string | SendEventRequestInput['content'],
    options: { run?: boolean; event_id?: string; signal?: AbortSignal } = {},
  ): Promise<void> {
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
    const body: SendEventRequestInput = {
      role: 'user',
      run: options.run ?? true,
      event_id: options.event_id ?? newConversationId(),
      ...(parts === undefined ? {} : { content: parts }),
    }
    await this.#call(routes.sendMessage, { body, isRepeatable: true }, options.signal)
  }

  /**
   * Starts a run in the background; `batch_id` approves that batch of a `confirmation_request`.
   * @throws CallError with status 409 during a run, and when another batch waits.
   */
  async run(options: { batch_id?: string; signal?: AbortSignal } = {}): Promise<void> {
    const { batch_id, signal } = options
    await this.#once(routes.runConversation, batch_id === undefined ? {} : { body: { batch_id } }, signal)
  }

  /** Pauses the run before its next step. */
  async pause(signal?: AbortSignal): Promise<void> {
    await this.#call(routes.pauseConversation, { isRepeatable: true }, signal)
  }

  /** Cancels the model call or tool call in progress and pauses. */
  async interrupt(signal?: AbortSignal): Promise<void> {
    await this.#once(routes.interruptConversation, {}, signal)
  }

  /**
   * Approves or rejects the batch of actions that a `confirmation_request` with this `batch_id` has shown. Without it, the
   * pending batch is meant, and the server approves only one that a client of the user has received.
   * @throws CallError with status 409 when that batch does not wait, or the opposite was decided.
   */
  async respond(
    answer: { accept: boolean; reason?: string; batch_id?: string; llm_response_id?: string },
    signal?: AbortSignal,
  ): Promise<void> {
    await this.#once(routes.respondToConfirmation, { body: answer }, signal)
  }

  /**
   * Sends the result of an awaited client tool call; `event_id` is that of the ActionEvent.
   * @throws CallError with status 409 when the call has a result, has ended, or its time has passed.
   */
  async postResult(event_id: EventId, result: ClientToolResultInput, signal?: AbortSignal): Promise<void> {
    const path = { conversation_id: this.id, event_id }
    await call(this.#server, routes.postClientToolResult, { path, body: result, ...once() }, signal)
  }

  /** The agent's answer to a question outside the conversation, during a run too. Only the cost is recorded. */
  async ask(question: string, signal?: AbortSignal): Promise<string> {
    return (await this.#once(routes.askAgent, { body: { question } }, signal)).response
  }

  /** Decides from now on which actions need an approval. Calls that have not begun obey it. */
  async setConfirmationPolicy(policy: ConfirmationPolicyInput, signal?: AbortSignal): Promise<void> {
    await this.#call(routes.setConfirmationPolicy, { body: { policy }, isRepeatable: true }, signal)
  }

  /** Rates actions from now on; null: they are not rated. */
  async setSecurityAnalyzer(
    analyzer: BodyInput<typeof setSecurityAnalyzer>['security_analyzer'],
    signal?: AbortSignal,
  ): Promise<void> {
    const body = { security_analyzer: analyzer }
    await this.#call(routes.setSecurityAnalyzer, { body, isRepeatable: true }, signal)
  }

  /** Switches to the model of a stored profile. @throws CallError with status 404 when there is none of this name. */
  async switchProfile(profile_name: string, signal?: AbortSignal): Promise<void> {
    await this.#call(routes.switchProfile, { body: { profile_name }, isRepeatable: true }, signal)
  }

  /** Text of the agent's last finish action or message; empty before the first one. */
  async finalResponse(signal?: AbortSignal): Promise<string> {
    return (await this.#call(routes.agentFinalResponse, {}, signal)).response
  }

  /** Replaces the older part of the model's view by a summary. @throws CallError with status 400 without a condenser. */
  async condense(signal?: AbortSignal): Promise<void> {
    await this.#once(routes.condenseConversation, {}, signal)
  }

  /** Copies the conversation, or the branch that ends at `from_event_id`, into a new one. */
  async fork(
    request: { title?: string; tags?: Record<string, string>; reset_metrics?: boolean; from_event_id?: EventId } = {},
    signal?: AbortSignal,
  ): Promise<Conversation> {
    const { id } = await this.#once(routes.forkConversation, { body: request }, signal)
    return new Conversation(this.#server, id)
  }

  /**
   * Moves the leaf to any event of this conversation; null for the empty tree. `restore_files`: the files of the workspace become
   * those of that event, too. @throws CallError with status 409 without a checkpoint of them.
   */
  navigate(
    event_id: EventId | null,
    { restore_files = false }: { restore_files?: boolean } = {},
    signal?: AbortSignal,
  ): Promise<ConversationInfo> {
    return this.#once(routes.navigateConversation, { body: { event_id, restore_files } }, signal)
  }

  /**
   * Deletes the conversation. Returns what became of its workspace: one that the server has created is removed with its last
   * conversation, and kept if it has unsaved work. `workspace` `keep` or `delete` decides about it.
   */
  async delete(
    options: { workspace?: 'auto' | 'keep' | 'delete'; signal?: AbortSignal } = {},
  ): Promise<DeletedWorkspace> {
    const { signal, ...query } = options
    return (await this.#call(routes.deleteConversation, { query }, signal)).workspace
  }

  /**
   * Yields stored events in the order of `seq`, each once, across reconnects and restarts of the server,
   * and live deltas and snapshots. Ends after a frame of type `refused`, such as at a deletion.
   * @throws CallError for a permanent refusal; the signal's reason when it aborts.
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

  /**
   * As `watch`, over the session socket, which also has the output of commands and the calls that are being written.
   * `onConnection`: called with true when a connection is open, and with false when it is lost.
   */
  session({
    after = 0,
    signal,
    onConnection,
  }: WatchOptions & { onConnection?: (isOpen: boolean) => void } = {}): AsyncGenerator<SessionFrame> {
    const base = this.#server.baseUrl.replace(/\/+$/, '').replace(/^http/, 'ws')
    return sessionFrames({
      url: (seq) => `${base}/sockets/session/${this.id}?after_seq=${seq}`,
      apiKey: this.#server.apiKey,
      after,
      backOff: this.#server.backOff ?? RECONNECT,
      onConnection,
      signal,
    })
  }

  /** Yields stored events only; otherwise as `watch`. */
  async *events(options: WatchOptions = {}): AsyncGenerator<Pick<EventFrame, 'seq' | 'event'>> {
    for await (const frame of this.watch(options))
      if (frame.type === 'event') yield { seq: frame.seq, event: frame.event }
  }

  /** Yields live pieces of model answers. Pieces from before the call or from a lost connection are missing. */
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
    // `follow` repeats the request: it also knows how long to wait after a stream that broke off.
    const server = { ...this.#server, retries: 0 }
    const response = await open(server, routes.streamEvents, { path, headers, query: { after_seq } }, signal)
    return response.body ?? new ReadableStream({ start: (controller) => controller.close() })
  }

  /** As `#call`, for a request that the server carries out once although it is repeated. */
  #once<E extends Endpoint>(route: RouteOf<E>, request: Request<E>, signal: AbortSignal | undefined) {
    return this.#call(route, { ...request, ...once() }, signal)
  }

  #call<E extends Endpoint>(route: RouteOf<E>, request: Request<E>, signal: AbortSignal | undefined) {
    return call(this.#server, route, { ...request, path: { conversation_id: this.id } }, signal)
  }
}

/** A key of one request, for its repetitions only. */
const once = () => ({ idempotencyKey: newConversationId() })

/** Reads a frame; null for a type that this version does not know. */
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
