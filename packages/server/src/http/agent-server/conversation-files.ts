/** Files of a conversation by relative path. Source: docs/agent-server.md, Files of a conversation. */
import {
  downloadConversationFile,
  listConversationFiles,
  readConversationText,
  searchConversationFiles,
  type ConversationId,
} from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { BrowsedFolder } from '../../workspace/index.ts'
import { type Answer, toAnswer } from '../core/errors.ts'
import { ok, route } from '../core/route.ts'
import { attachment, sendFile } from '../core/send-file.ts'
import type { Route, Streamed } from '../core/web.ts'

export type ConversationFileDeps = {
  browse: (id: ConversationId, actor: Actor) => Promise<BrowsedFolder>
  log: Log
  /** Records activity, for the idle time of the server. */
  touch: () => void
}

export function conversationFileRoutes({ browse, log, touch }: ConversationFileDeps): Route[] {
  async function reading(
    id: ConversationId,
    actor: Actor,
    read: (folder: BrowsedFolder) => Promise<Answer | Streamed>,
  ): Promise<Answer | Streamed> {
    touch()
    const folder = await browse(id, actor)
    // Answered here, because an unknown file must not be reported as an unknown conversation.
    return read(folder).catch((error: unknown) => toAnswer(error, log))
  }
  return [
    route(
      listConversationFiles,
      ({ id, query, callerSignal }, actor) =>
        reading(id, actor, async (folder) => ok(listConversationFiles, await folder.list(query.path, callerSignal()))),
      'with_id',
    ),
    route(
      readConversationText,
      ({ id, query: { path, ...range }, callerSignal }, actor) =>
        reading(id, actor, async (folder) => ok(readConversationText, await folder.text(path, range, callerSignal()))),
      'with_id',
    ),
    route(
      searchConversationFiles,
      ({ id, query: { q, limit }, callerSignal }, actor) =>
        reading(id, actor, async (folder) =>
          ok(searchConversationFiles, await folder.search(q, limit, callerSignal())),
        ),
      'with_id',
    ),
    route(
      downloadConversationFile,
      ({ id, query, callerSignal }, actor) =>
        reading(id, actor, async (folder) => {
          const file = await folder.open(query.path, callerSignal())
          return sendFile(file, { 'content-type': 'application/octet-stream', ...attachment(file.name) }, log)
        }),
      'with_id',
    ),
  ]
}
