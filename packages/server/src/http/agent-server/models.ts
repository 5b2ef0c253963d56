/** The available models. Source: agent-server-wire.md 1.13. */
import { listModels, listProviders, listVerifiedModels } from '@parley/protocol'
import type { Catalogue } from '../../llm/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function modelRoutes(catalogue: Catalogue): Route[] {
  return [
    route(listProviders, async () => ok(listProviders, { providers: catalogue.providers() })),
    route(listModels, async ({ query }) => ok(listModels, { models: await catalogue.models(query.provider) })),
    route(listVerifiedModels, async () => ok(listVerifiedModels, { models: await catalogue.verified() })),
  ]
}
