/** The completion log of a conversation. Source: docs/models.md, Completion log. */
import { listCompletions, ParleyError, readCompletion } from '@parley/protocol'
import type { Conversations } from '../../conversation/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function completionRoutes(conversations: Pick<Conversations, 'completions' | 'completion'>): Route[] {
  return [
    route(listCompletions, async ({ id }, actor) =>
      ok(listCompletions, { items: await conversations.completions(id, actor) }),
    ),
    route(readCompletion, async ({ id, params: { filename } }, actor) => {
      const text = await conversations.completion(id, filename, actor)
      if (text === null)
        throw new ParleyError('not_found', `There is no completion ${filename}.`, { details: { filename } })
      return {
        stream: (response, headers) =>
          void response.writeHead(200, { ...headers, 'content-type': 'application/json' }).end(text),
      }
    }),
  ]
}
