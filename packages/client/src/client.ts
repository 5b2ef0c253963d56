/** A Parley server, seen from a client. Runs in browsers and in Node. */
import {
  createConversation,
  getConversation,
  getConversations,
  newConversationId,
  searchConversations,
  serverInfo,
  type ConversationId,
  type ConversationInfo,
  type ConversationPage,
  type ConversationProgressPage,
  type ConversationResponse,
  type InitSessionRequestInput,
  type QueryInput,
  type ServerInfo,
  type StartConversationRequestInput,
} from '@parley/protocol'
import { call, type Server } from './call.ts'
import { Conversation } from './conversation.ts'

export class ParleyClient {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * Starts a conversation with an agent of one's own choice. A start whose answer got lost is repeated under the same id,
   * so that it never becomes two.
   */
  async start(body: StartConversationRequestInput, signal?: AbortSignal): Promise<ConversationInfo> {
    const conversation_id = body.conversation_id ?? newConversationId()
    const request = { body: { ...body, conversation_id }, isRepeatable: true }
    return (await call(this.#server, createConversation, request, signal)) as ConversationInfo
  }

  /** Starts a conversation from what is stored in the user's settings; `{}` is enough. Repeated as `start` is. */
  async startSeed(body: InitSessionRequestInput, signal?: AbortSignal): Promise<ConversationResponse> {
    const conversation_id = body.conversation_id ?? newConversationId()
    const request = { body: { ...body, conversation_id }, isRepeatable: true }
    return (await call(this.#server, createConversation, request, signal)) as ConversationResponse
  }

  /** A conversation by its id. Asks the server nothing yet. */
  conversation(id: ConversationId): Conversation {
    return new Conversation(this.#server, id)
  }

  /** @throws CallError with status 404 when there is none, or it is somebody else's. */
  info(id: ConversationId, signal?: AbortSignal): Promise<ConversationInfo> {
    return call(this.#server, getConversation, { path: { conversation_id: id } }, signal)
  }

  /** A page of conversations, newest first unless told otherwise. */
  search(query: QueryInput<typeof searchConversations> = {}, signal?: AbortSignal): Promise<ConversationPage> {
    return call(this.#server, searchConversations, { query }, signal)
  }

  /** A page of conversations in the words of New Conversation, newest first; `page_id` is the `next_page_id` of the page before. */
  async list(
    query: Omit<QueryInput<typeof getConversations>, 'ids' | 'include_skills'> = {},
    signal?: AbortSignal,
  ): Promise<ConversationProgressPage> {
    return (await call(this.#server, getConversations, { query }, signal)) as ConversationProgressPage
  }

  /** Version, tools and uptime; needs no key. */
  serverInfo(signal?: AbortSignal): Promise<ServerInfo> {
    return call(this.#server, serverInfo, {}, signal)
  }
}
