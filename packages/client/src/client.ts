/** Client of a Parley server for browsers and Node. */
import type {
  ConversationId,
  ConversationInfo,
  ConversationPage,
  ConversationProgressPage,
  ConversationResponse,
  Fleet,
  getConversations,
  InitSessionRequestInput,
  listAgentProfiles,
  listProfiles,
  Me,
  OkBody,
  QueryInput,
  searchConversations,
  ServerInfo,
  StartConversationRequestInput,
} from '@parley/protocol'
import { call, type Server } from './call.ts'
import { newConversationId } from './conversation-id.ts'
import { Conversation } from './conversation.ts'
import * as routes from './routes.gen.ts'

export class ParleyClient {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * Starts a conversation with the agent in `body`. A start without an answer is repeated under the same id,
   * so that it never creates two conversations.
   */
  async start(body: StartConversationRequestInput, signal?: AbortSignal): Promise<ConversationInfo> {
    const conversation_id = body.conversation_id ?? newConversationId()
    const request = { body: { ...body, conversation_id }, isRepeatable: true }
    return (await call(this.#server, routes.createConversation, request, signal)) as ConversationInfo
  }

  /** Starts a conversation from what is stored in the user's settings; `{}` is enough. Repeated as `start` is. */
  async startFromSettings(body: InitSessionRequestInput, signal?: AbortSignal): Promise<ConversationResponse> {
    const conversation_id = body.conversation_id ?? newConversationId()
    const request = { body: { ...body, conversation_id }, isRepeatable: true }
    return (await call(this.#server, routes.createConversation, request, signal)) as ConversationResponse
  }

  /** A handle of the conversation `id`. Sends no request. */
  conversation(id: ConversationId): Conversation {
    return new Conversation(this.#server, id)
  }

  /** @throws CallError with status 404 when the conversation does not exist or belongs to another user. */
  info(id: ConversationId, signal?: AbortSignal): Promise<ConversationInfo> {
    return call(this.#server, routes.getConversation, { path: { conversation_id: id } }, signal)
  }

  /** A page of conversations, by default newest first. */
  search(query: QueryInput<typeof searchConversations> = {}, signal?: AbortSignal): Promise<ConversationPage> {
    return call(this.#server, routes.searchConversations, { query }, signal)
  }

  /** A page of conversations in the form of the conversation service API, newest first; `page_id` is the `next_page_id` of the previous page. */
  async list(
    query: Omit<QueryInput<typeof getConversations>, 'ids' | 'include_skills'> = {},
    signal?: AbortSignal,
  ): Promise<ConversationProgressPage> {
    return (await call(this.#server, routes.getConversations, { query }, signal)) as ConversationProgressPage
  }

  /** Starts the demo of the user, or finds the one that has not ended; its conversation. */
  async startDemo(signal?: AbortSignal): Promise<Conversation> {
    const { conversation_id } = await call(this.#server, routes.startDemo, {}, signal)
    return this.conversation(conversation_id as ConversationId)
  }

  /** The nodes that share the store of the server; needs a key with the role admin. */
  fleet(signal?: AbortSignal): Promise<Fleet> {
    return call(this.#server, routes.readFleet, {}, signal)
  }

  /**
   * An address that opens the web UI. It logs one browser in with the key of this client, once and within ten minutes.
   * @throws CallError with status 403 when the client has the token of a login session instead of a key.
   */
  async loginLink(signal?: AbortSignal): Promise<string> {
    const page = `${this.#server.baseUrl.replace(/\/+$/, '')}/`
    const { without_keys: isOpen } = await call(this.#server, routes.readMe, {}, signal)
    return isOpen ? page : `${page}#login=${(await call(this.#server, routes.createLoginCode, {}, signal)).code}`
  }

  /** The user and role of the key, and whether a model is configured. */
  me(signal?: AbortSignal): Promise<Me> {
    return call(this.#server, routes.readMe, {}, signal)
  }

  /** The agent profiles; there is at least one. */
  agentProfiles(signal?: AbortSignal): Promise<OkBody<typeof listAgentProfiles>> {
    return call(this.#server, routes.listAgentProfiles, {}, signal)
  }

  /** The model profiles; may be empty. */
  modelProfiles(signal?: AbortSignal): Promise<OkBody<typeof listProfiles>> {
    return call(this.#server, routes.listProfiles, {}, signal)
  }

  /** Version, tools and uptime; needs no key. */
  serverInfo(signal?: AbortSignal): Promise<ServerInfo> {
    return call(this.#server, routes.serverInfo, {}, signal)
  }
}
