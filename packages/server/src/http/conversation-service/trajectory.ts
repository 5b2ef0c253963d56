/** Exports of a conversation: as a recording and as an archive. Source: conversation-service.md 2; agent-server-wire.md 1.8. */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { downloadTrajectory, getTrajectory } from '@parley/protocol'
import { archiveOf, trajectoryOf, type Archive, type Conversations } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function trajectoryRoutes(conversations: Conversations, log: Log): Route[] {
  return [
    route(
      getTrajectory,
      async ({ id, query }, actor) => ok(getTrajectory, await trajectoryOf(conversations, id, actor, query.format)),
      'named',
    ),
    route(
      downloadTrajectory,
      async ({ id }, actor) => {
        const archive = await archiveOf(conversations, id, actor)
        return { stream: (response, headers) => void send(response, headers, archive, log) }
      },
      'named',
    ),
  ]
}

async function send(
  response: ServerResponse,
  headers: Record<string, string>,
  { name, pieces }: Archive,
  log: Log,
): Promise<void> {
  response.writeHead(200, {
    ...headers,
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename="${name}"`,
  })
  try {
    await pipeline(Readable.from(pieces), response)
  } catch (error) {
    // The headers are sent, so only an early end of the connection can tell the caller.
    log.warn({ err: error }, 'archive transfer aborted')
  }
}
